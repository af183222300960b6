// The simulation by hand: seeds, replays, pictures, mutants. Exit code 0: nothing broke (or every mutant was killed);
// 1: something broke; 2: usage.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "simulation/sim_report.hpp"
#include "simulation/sim_shrink.hpp"

namespace tenure::test {
namespace {

struct Arguments {
  std::uint64_t seed{0};
  std::string seeds{};
  std::string html{}, json{}, faults{"all"}, mutant{}, store{"drawn"}, mode{"drawn"}, replay{}, saveTo{};
  double hours{0}, years{0};
  unsigned jobs{1}, leases{SimOptions{}.leases};
  std::size_t candidates{0};
  std::uint64_t mostSeeds{1000};
  bool trace{false}, liveness{false}, canary{false}, list{false}, allMutants{false}, keepGoing{false}, noShrink{false};
  bool needPoints{false};
};

class Usage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void declare(CLI::App& app, Arguments& args) {
  app.add_option("--seed", args.seed, "run one seed");
  app.add_option("--seeds", args.seeds, "run seeds A-B");
  app.add_option("--hours", args.hours, "run seeds until so many hours are simulated");
  app.add_option("--years", args.years, "the same in years of 8,760 hours");
  app.add_option("--jobs", args.jobs, "threads (1)");
  app.add_option("--candidates", args.candidates, "at most so many candidates (as drawn)");
  app.add_option("--leases", args.leases, "length of the part with faults, in leases (60)");
  app.add_option("--faults", args.faults, "kinds of faults that may be drawn: all, none, a,b, all-a-b");
  app.add_option("--store", args.store, "drawn, model, memory, dynamodb, postgresql, etcd, kubernetes");
  app.add_option("--mode", args.mode, "drawn, safety, liveness");
  app.add_flag("--liveness", args.liveness, "the same as --mode liveness");
  app.add_flag("--trace", args.trace, "write everything that happens (one seed)");
  app.add_option("--html", args.html, "write a picture of the run to this file (one seed)");
  app.add_option("--json", args.json, "write the summary to this file");
  app.add_option("--replay", args.replay, "run a regression file");
  app.add_option("--save", args.saveTo, "write the shrunk failure to this regression file");
  app.add_flag("--canary", args.canary, "each hundredth seed fails");
  app.add_flag("--keep-going", args.keepGoing, "do not stop at the first failure");
  app.add_flag("--no-shrink", args.noShrink, "do not look for a smaller configuration that fails");
  app.add_flag("--points", args.needPoints, "fail if a rare path was never taken");
  app.add_option("--mutant", args.mutant, "run with this fault in the protocol (tenure-sim-mutants)");
  app.add_flag("--all-mutants", args.allMutants, "kill every mutant (tenure-sim-mutants)");
  app.add_option("--most-seeds", args.mostSeeds, "seeds for each mutant (1000)");
  app.add_flag("--list", args.list, "list the mutants");
}

template <class Enum>
Enum named(const std::string& text, Enum last, const char* option) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (toString(static_cast<Enum>(i)) == text) return static_cast<Enum>(i);
  }
  throw Usage{std::string{option} + " does not know \"" + text + "\""};
}

FaultSet faultsOf(const std::string& names) {
  std::string unknown;
  const auto faults = faultsFrom(names, unknown);
  if (!faults) throw Usage{"--faults does not know \"" + unknown + "\""};
  return *faults;
}

SimOptions optionsFrom(const Arguments& args) {
  SimOptions options;
  options.seed = args.seed;
  options.mode = args.liveness ? SimMode::liveness : named(args.mode, SimMode::liveness, "--mode");
  options.store = named(args.store, StoreKind::kubernetes, "--store");
  options.allowed = faultsOf(args.faults);
  options.candidates = args.candidates;
  options.leases = args.leases;
  options.canary = args.canary;
  if (args.replay.empty()) return options;
  std::ifstream file{args.replay};
  std::stringstream text;
  text << file.rdbuf();
  const std::string fault = file ? readRegression(text.str(), options) : "cannot be read";
  if (!fault.empty()) throw Usage{args.replay + ": " + fault};
  return options;
}

void writeFile(const std::string& path, const std::string& text) {
  std::ofstream file{path};
  file << text;
  if (!file.flush()) throw Usage{"cannot write " + path};
}

double secondsSince(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

void activate(const std::string& name) {
  const MutantInfo* info = mutantNamed(name);
  if (info == nullptr) throw Usage{"there is no mutant \"" + name + "\"; --list shows them"};
#ifdef TENURE_MUTANTS
  mutant::active = info->mutant;
#else
  throw Usage{"mutants are not in this program; use tenure-sim-mutants"};
#endif
}

int runOne(const Arguments& args, SimOptions options) {
  options.trace = args.trace;
  options.timeline = !args.html.empty();
  const SimReport report = simulate(options);
  std::cout << report.trace;
  const std::string command = replayCommand(options);
  if (!args.html.empty()) writeFile(args.html, htmlOf(report.timeline, command, report.configuration));
  const Colours colours = Colours::forOutput(STDOUT_FILENO);
  std::cout << "world: " << report.configuration << '\n';
  for (const Violation& v : report.violations) {
    std::cout << colours.red << v.oracle << colours.plain << ": " << v.text << '\n';
  }
  if (report.violations.empty()) std::cout << colours.green << "nothing broke" << colours.plain << '\n';
  return report.violations.empty() ? 0 : 1;
}

void tellFailure(const Arguments& args, const Failure& failure, const std::string& commit) {
  std::cout << failureText(failure, commit);
  if (!args.mutant.empty())
    std::cout << "  mutant:  tenure-sim-mutants --mutant " << args.mutant << " and the options above\n";
  if (args.noShrink || failure.violation.oracle == "canary") return;
  const Shrunk small = shrink(failure.options);
  std::cout << "  shrunk:  " << replayCommand(small.options) << "  (" << small.tries
            << " runs)\n  broke:   " << small.report.violations.front().oracle << ": "
            << small.report.violations.front().text << '\n';
  if (!args.saveTo.empty()) writeFile(args.saveTo, regressionText(small.options, small.report.violations.front().text));
}

/// Failures are also reported when they occur: a run of hours may be ended before its summary.
std::function<void(const CampaignState&)> progressOf(double hours, std::uint64_t seeds) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  return [=, told = 0U, failures = std::size_t{0}](const CampaignState& state) mutable {
    for (; failures < state.failures.size(); ++failures) {
      std::fprintf(stderr, "%sfailed so far: %s\n", terminal ? "\r" : "",
                   replayCommand(state.failures[failures].options).c_str());
    }
    if (!terminal && ++told % 10 != 0) return;
    const double part =
        hours > 0 ? state.totals.hours / hours : static_cast<double>(state.seeds) / static_cast<double>(seeds);
    std::fprintf(stderr, "%s%5.1f %%  %llu seeds, %.0f h, %zu failures%s", terminal ? "\r" : "", 100 * part,
                 static_cast<unsigned long long>(state.seeds), state.totals.hours, state.failures.size(),
                 terminal ? "  " : "\n");
  };
}

std::pair<std::uint64_t, std::uint64_t> rangeOf(const std::string& text) {
  const std::size_t dash = text.find('-');
  try {
    const std::uint64_t first = std::stoull(text.substr(0, dash));
    return {first, dash == std::string::npos ? first : std::stoull(text.substr(dash + 1))};
  } catch (const std::exception&) {
    throw Usage{"--seeds wants A-B, got \"" + text + "\""};
  }
}

int runMany(const Arguments& args, const SimOptions& base) {
  CampaignOptions campaign;
  campaign.base = base;
  if (!args.seeds.empty()) std::tie(campaign.first, campaign.last) = rangeOf(args.seeds);
  campaign.hours = args.hours + args.years * 8760;
  campaign.jobs = std::max(1U, args.jobs);
  campaign.mostFailures = args.keepGoing ? 1'000'000 : 1;
  campaign.twice = 100;
  const auto from = std::chrono::steady_clock::now();
  const CampaignState state = runCampaign(campaign, progressOf(campaign.hours, campaign.last - campaign.first + 1));
  const double seconds = secondsSince(from);
  if (isatty(STDERR_FILENO) != 0) std::fputc('\n', stderr);
  const std::string commit = commitText();
  std::cout << summaryText(state, seconds);
  for (const Failure& failure : state.failures) tellFailure(args, failure, commit);
  if (!args.json.empty()) writeFile(args.json, campaignJson(state, seconds, commit));
  const std::vector<std::string> missed = args.needPoints ? missedPoints(state.points) : std::vector<std::string>{};
  for (const std::string& point : missed) std::cout << "never met: " << point << '\n';
  return state.failures.empty() && missed.empty() ? 0 : 1;
}

MutantKill hunt(const MutantInfo& info, const SimOptions& base, std::uint64_t mostSeeds) {
  activate(std::string{info.name});
  MutantKill kill{&info};
  const auto from = std::chrono::steady_clock::now();
  SimOptions options = base;
  if (options.store == StoreKind::drawn) options.store = info.store;
  if (options.mode == SimMode::drawn) options.mode = info.mode;
  if (options.allowed.all()) options.allowed = faultsOf(std::string{info.faults});
  for (options.seed = 1; options.seed <= mostSeeds && kill.seed == 0; ++options.seed) {
    const SimReport report = simulate(options);
    if (report.violations.empty()) continue;
    kill.seed = options.seed;
    kill.violation = report.violations.front();
  }
  kill.seconds = secondsSince(from);
  return kill;
}

int killAll(const Arguments& args, const SimOptions& base) {
  const Colours colours = Colours::forOutput(STDOUT_FILENO);
  std::vector<MutantKill> kills;
  bool survived = false;
  for (const MutantInfo& info : mutantTable()) {
    if (info.store == StoreKind::dynamodb && !hasDynamoDb()) continue;
    if (info.store == StoreKind::etcd && !hasEtcd()) continue;
    if (info.store == StoreKind::kubernetes && !hasKubernetes()) continue;
    kills.push_back(hunt(info, base, args.mostSeeds));
    const MutantKill& kill = kills.back();
    const bool lives = kill.seed == 0;
    survived = survived || lives;
    std::printf("%s%-28s %s%s  %s\n", lives ? colours.red : "", std::string{info.name}.c_str(),
                lives ? "SURVIVED" : ("seed " + std::to_string(kill.seed)).c_str(), lives ? colours.plain : "",
                lives ? "" : kill.violation.oracle.c_str());
    std::fflush(stdout);
  }
  std::printf("%zu mutants, median of the first killing seeds %.1f\n", kills.size(), medianSeed(kills, args.mostSeeds));
  if (!args.json.empty()) writeFile(args.json, mutantsJson(kills, args.mostSeeds, commitText()));
  return survived ? 1 : 0;
}

int run(const Arguments& args) {
  if (args.list) {
    for (const MutantInfo& info : mutantTable()) {
      std::cout << info.name << " | " << info.invariant << " | " << toString(info.store)
                << (info.mode == SimMode::drawn ? "" : ", " + std::string{toString(info.mode)})
                << (info.faults == "all" ? "" : ", faults " + std::string{info.faults}) << " | " << info.what << '\n';
    }
    return 0;
  }
  const SimOptions base = optionsFrom(args);
  if (args.allMutants) return killAll(args, base);
  if (!args.mutant.empty()) activate(args.mutant);
  if (!args.seeds.empty() || args.hours > 0 || args.years > 0) return runMany(args, base);
  if (args.seed == 0 && args.replay.empty()) throw Usage{"give --seed, --seeds, --hours or --years"};
  return runOne(args, base);
}

}  // namespace
}  // namespace tenure::test

int main(int argc, char** argv) {
  CLI::App app{"tenure-sim: the lease protocol in virtual time, under every fault at once"};
  tenure::test::Arguments args;
  tenure::test::declare(app, args);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& fault) {
    return app.exit(fault) == 0 ? 0 : 2;
  }
  try {
    return tenure::test::run(args);
  } catch (const tenure::test::Usage& fault) {
    std::cerr << "tenure-sim: " << fault.what() << '\n';
    return 2;
  }
}
