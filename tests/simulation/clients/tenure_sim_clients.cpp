// The simulation of the clients by hand. Exit code 0: nothing broke; 1: something did; 2: usage.
#include <cstdio>
#include <iostream>

#include <CLI/CLI.hpp>

#include "simulation/clients/client_sim.hpp"

#ifdef TENURE_MUTANTS
#include "simulation/mutants.hpp"
#endif

namespace {

using namespace tenure::test;

#ifdef TENURE_MUTANTS
enum class StoreKind { drawn };
using tenure::Mutant;
struct Row {
  Mutant mutant;
  std::string_view name;
  StoreKind store;
  std::string_view rule, what, faults;
};
constexpr Row mutants[] = {
#include "simulation/mutant_rows.inc"
};

/// Each must be found within the seeds.
int runMutants(const ClientOptions& base, std::uint64_t first, std::uint64_t last, unsigned jobs) {
  int survivors = 0;
  for (const Row& row : mutants) {
    tenure::mutant::active = row.mutant;
    const ClientCampaign campaign = runClients(base, first, last, 0, jobs);
    std::cout << row.name << " | " << row.what << " | "
              << (campaign.failed ? campaign.failure.oracle + " | " + std::to_string(campaign.failed->seed)
                                  : "SURVIVED")
              << std::endl;
    survivors += campaign.failed ? 0 : 1;
  }
  return survivors == 0 ? 0 : 1;
}
#else
int runMutants(const ClientOptions&, std::uint64_t, std::uint64_t, unsigned) {
  std::cerr << "tenure-sim-clients: mutants are not in this program; use tenure-sim-jobs-mutants\n";
  return 2;
}
#endif

struct Arguments {
  std::string seeds{}, faults{"all"};
  double hours{0}, years{0};
  unsigned jobs{1};
  bool points{false}, noShrink{false}, allMutants{false};
  ClientOptions one{.seed = 0};
};

void declare(CLI::App& app, Arguments& args) {
  app.add_option("--seed", args.one.seed, "run one seed");
  app.add_option("--seeds", args.seeds, "run seeds A-B");
  app.add_option("--hours", args.hours, "run seeds until so many hours are simulated");
  app.add_option("--years", args.years, "the same in years of 8,760 hours");
  app.add_option("--jobs", args.jobs, "threads (1)");
  app.add_option("--leases", args.one.leases, "length of the part with faults, in leases (40)");
  app.add_flag("--scheduled-jobs", args.one.jobs, "SingletonScheduler on three processes for a day and a half instead");
  app.add_option("--faults", args.faults, "kinds of faults that may be drawn: all, none, a,b, all-a-b");
  app.add_flag("--trace", args.one.trace, "write everything that happens (one seed)");
  app.add_flag("--canary", args.one.canary, "each hundredth seed fails");
  app.add_flag("--no-shrink", args.noShrink, "do not look for fewer kinds of faults that fail");
  app.add_flag("--all-mutants", args.allMutants, "every mutant must be found within --seeds");
  app.add_flag("--points", args.points, "fail if a rare path was never taken");
}

int runOne(const Arguments& args) {
  const ClientReport report = simulateClients(args.one);
  std::cout << report.trace << "world: " << report.configuration << '\n';
  std::cout << (report.oracle.empty() ? "nothing broke" : report.oracle + ": " + report.text) << '\n';
  return report.oracle.empty() ? 0 : 1;
}

int runMany(const Arguments& args, std::uint64_t first, std::uint64_t last) {
  const ClientCampaign campaign =
      runClients(args.one, first, last, args.hours + args.years * 8760, std::max(1U, args.jobs));
  std::printf("%llu seeds, %.1f simulated hours, %llu events, %llu seeds run twice\n",
              static_cast<unsigned long long>(campaign.seeds), campaign.hours,
              static_cast<unsigned long long>(campaign.events), static_cast<unsigned long long>(campaign.repeated));
  std::cout << failureText(campaign, !args.noShrink && !args.one.canary);
  const std::string missed = args.points ? missedClientPoints(campaign.points, args.one.jobs) : std::string{};
  std::cout << missed;
  return campaign.failed || !missed.empty() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"tenure-sim-clients: electors, locks and tokens in virtual time, over a store that fails"};
  Arguments args;
  declare(app, args);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& fault) {
    return app.exit(fault) == 0 ? 0 : 2;
  }
  const auto allowed = disturbancesFrom(args.faults);
  unsigned long long first = 1, last = 0;
  const bool range = std::sscanf(args.seeds.c_str(), "%llu-%llu", &first, &last) == 2;
  if (!allowed || (!args.seeds.empty() && !range)) {
    std::cerr << "tenure-sim-clients: "
              << (allowed ? "--seeds wants A-B\n" : "--faults names a kind that there is not\n");
    return 2;
  }
  args.one.allowed = *allowed;
  if (args.allMutants) return runMutants(args.one, first, last, std::max(1U, args.jobs));
  if (range || args.hours > 0 || args.years > 0) return runMany(args, first, last);
  if (args.one.seed != 0) return runOne(args);
  std::cerr << "tenure-sim-clients: give --seed, --seeds, --hours or --years\n";
  return 2;
}
