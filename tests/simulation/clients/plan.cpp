// What a seed decides, the names of the faults, and running many seeds.
#include <atomic>
#include <mutex>
#include <thread>

#include "simulation/clients/world.hpp"

namespace tenure::test {

using namespace std::chrono_literals;

namespace {

struct Kind {
  std::string_view name;
  double most;  ///< the highest rate: for each request, task, callback, action or third of a lease
};
constexpr std::array<Kind, disturbances> kinds{{
    {"loseRequest", 0.3},  {"loseReply", 0.4},      {"late", 0.2},           {"refuse", 0.3},
    {"unsure", 0.3},       {"silent", 0.2},         {"throwBefore", 0.2},    {"throwAfter", 0.2},
    {"inside", 0.5},       {"outage", 0.1},         {"lateLoop", 0.1},       {"slowCallback", 0.5},
    {"hungCallback", 0.1}, {"executorThrows", 0.2}, {"callbackThrows", 0.3}, {"pause", 0.1},
    {"crash", 0.1},        {"jumpyClock", 0.2},     {"interrupted", 0.8},    {"stepDown", 0.3},
    {"stop", 0.2},         {"destroy", 0.3},        {"insideCallback", 0.2}, {"operatorStepDown", 0.1},
    {"erase", 0.05},       {"staleToken", 0.1},     {"cancel", 0.3},         {"close", 0.1},
    {"wallStep", 0.02},    {"refusePayload", 0.2},
}};

constexpr std::string_view rareJobPoints[] = {
    "jobBegun", "jobRepeated", "jobStopped", "jobsDestroyed", "jobEndRefused", "wallStepped", "payloadRefused",
};

constexpr std::string_view rarePoints[] = {
    "acquired",
    "takenOver",
    "replyLost",
    "threwAfterItWasApplied",
    "callbackHung",
    "executorThrew",
    "crashed",
    "clockJumped",
    "readerSawTheEnd",
    "elected",
    "revoked",
    "electedThrew",
    "actedInCallback",
    "destroyedInCallback",
    "destroyedAndWaited",
    "stoppedAndWaited",
    "releaseWhileDraining",
    "notDrained",
    "lockWon",
    "lockTimedOut",
    "lockUnknown",
    "lockCancelled",
    "lockLost",
    "lockReleased",
    "lockReleaseUnknown",
    "renewed",
    "renewalLost",
    "ensured",
    "extended",
    "expiring",
    "acquiredAndWaited",
    "shared",
    "closed",
    "servedInLine",
    "tokenWon",
    "tokenRenewed",
    "tokenReleased",
    "tokenResumed",
    "tokenSuperseded",
    "tokenExpired",
    "tokenLost",
    "tokenUnknown",
    "tokenRefused",
    "shardElected",
    "shardRevoked",
    "balanced",
};

}  // namespace

std::string_view toString(Disturbance disturbance) noexcept {
  return kinds[static_cast<std::size_t>(disturbance)].name;
}

std::optional<DisturbanceSet> disturbancesFrom(std::string_view list) {
  DisturbanceSet set;
  bool adds = true;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(",-"), list.size());
    const std::string_view word = list.substr(0, end);
    bool known = word == "none";
    for (std::size_t i = 0; i < disturbances; ++i) {
      if (word != "all" && word != kinds[i].name) continue;
      set.set(i, adds);
      known = true;
    }
    if (!known) return std::nullopt;
    adds = end == list.size() || list[end] == ',';
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return set;
}

std::string toString(const DisturbanceSet& set) {
  if (set.all()) return "all";
  std::string out;
  for (std::size_t i = 0; i < disturbances; ++i) {
    if (set.test(i)) out += (out.empty() ? "" : ",") + std::string{kinds[i].name};
  }
  return out.empty() ? "none" : out;
}

/// A random subset of the faults, each with a rate: a failure that needs two kinds together hardly occurs where all the
/// others happen too.
void World::drawPlan(const ClientOptions& options) {
  DisturbanceSet on;
  constexpr auto firstOfJobs = static_cast<std::size_t>(Disturbance::wallStep);
  for (std::size_t i = 0; i < disturbances; ++i) {
    streams_.push_back(SeededRandom{options.seed}.split(100 + i));
    const bool drawn = streams_.back().chance(0.3) && (options.jobs || i < firstOfJobs);
    const double part = static_cast<double>(1 + streams_.back().below(1000)) / 1000;
    on.set(i, drawn && options.allowed.test(i));
    plan_.rates[i] = on.test(i) ? kinds[i].most * part : 0;
  }
  SeededRandom plan = SeededRandom{options.seed}.split(4);
  plan_.together = options.seed % 2 == 0;
  constexpr std::chrono::milliseconds leases[] = {300ms, 1'000ms, 3'000ms, 10'000ms};
  plan_.lease = leases[plan.below(4)];
  plan_.processes = static_cast<unsigned>(2 + plan.below(3));
  const std::uint64_t people = plan.below(4);
  if (people == 0 || plan.chance(0.2)) plan_.electors = static_cast<unsigned>(1 + plan.below(2));
  if (people == 1 || plan.chance(0.2)) plan_.clients = static_cast<unsigned>(1 + plan.below(3));
  if (people == 2) plan_.tokens = 1;
  if (people == 3) plan_.sharded = 1;
  constexpr std::int64_t slowness[] = {10'000, 1'000, 100};
  plan_.mostDelay = TrueTime{plan_.lease} / slowness[plan.below(3)];
  plan_.leastDelay = plan_.mostDelay / 20;
  constexpr double bounds[] = {500e-6, 0.01, 0.05};
  plan_.rateBound = bounds[plan_.tokens > 0 ? 0 : plan.below(3)];  // a token's guard is the default one
  if (options.jobs) drawJobs(plan);
  report_.configuration = std::to_string(plan_.processes) + " processes, each with " + std::to_string(plan_.electors) +
                          " electors, " + std::to_string(plan_.clients) + " lock clients, " +
                          std::to_string(plan_.tokens) + " users of tokens, " + std::to_string(plan_.sharded) +
                          " sharded electors; lease " + std::to_string(plan_.lease.count()) + " ms, messages up to " +
                          std::to_string(plan_.mostDelay / 1us) + " us, disturbances " + toString(on);
}

/// Long runs need rates by the hour, not by the lease. What erases the record erases the ledger.
void World::drawJobs(SeededRandom& plan) {
  plan_.jobs = true;
  plan_.processes = 3;
  plan_.electors = plan_.clients = plan_.tokens = plan_.sharded = 0;
  plan_.lease = plan.chance(0.5) ? 10s : 30s;
  plan_.mostDelay = TrueTime{plan_.lease} / (plan.chance(0.5) ? 1'000 : 100);
  plan_.leastDelay = plan_.mostDelay / 20;
  const auto rate = [this](Disturbance disturbance) -> double& {
    return plan_.rates[static_cast<std::size_t>(disturbance)];
  };
  rate(Disturbance::erase) = 0;
  rate(Disturbance::jumpyClock) = 0;
  for (const Disturbance often :
       {Disturbance::outage, Disturbance::pause, Disturbance::crash, Disturbance::operatorStepDown})
    rate(often) /= 5;
  for (const Disturbance often : {Disturbance::stepDown, Disturbance::stop}) rate(often) /= 20;
}

ClientReport simulateClients(const ClientOptions& options) {
  World world{options};
  return world.run();
}

std::string missedClientPoints(const std::map<std::string_view, std::uint64_t>& met, bool jobs) {
  std::string missed;
  const auto look = [&](const auto& points) {
    for (const std::string_view point : points) {
      if (met.count(point) == 0) missed += "never met: " + std::string{point} + '\n';
    }
  };
  jobs ? look(rareJobPoints) : look(rarePoints);
  return missed;
}

std::string clientReplay(const ClientOptions& options) {
  std::string out = "tenure-sim-clients --seed " + std::to_string(options.seed);
  if (!options.allowed.all()) out += " --faults " + toString(options.allowed);
  if (options.leases != ClientOptions{}.leases) out += " --leases " + std::to_string(options.leases);
  if (options.jobs) out += " --scheduled-jobs";
  if (options.canary) out += " --canary";
  return out + " --trace";
}

ClientCampaign runClients(const ClientOptions& base, std::uint64_t first, std::uint64_t last, double hours,
                          unsigned jobs) {
  std::atomic<std::uint64_t> next{first};
  std::atomic<bool> done{false};
  std::mutex mutex;  // guards the campaign
  ClientCampaign campaign;
  const auto work = [&] {
    for (std::uint64_t seed = next++; !done && (hours > 0 || seed <= last); seed = next++) {
      ClientOptions one = base;
      one.seed = seed;
      ClientReport report = simulateClients(one);
      const bool again = seed % 100 == 0;
      if (again && simulateClients(one).digest != report.digest && report.oracle.empty()) {
        report.oracle = "determinism", report.text = "the same seed did something else the second time";
      }
      const std::lock_guard lock{mutex};
      ++campaign.seeds;
      campaign.repeated += again ? 1 : 0;
      campaign.events += report.events;
      campaign.hours += report.hours;
      for (const auto& [point, count] : report.points) campaign.points[point] += count;
      if (hours > 0 && campaign.hours >= hours) done = true;
      if (report.oracle.empty() || (campaign.failed && campaign.failed->seed < seed)) continue;
      campaign.failed = one;
      campaign.failure = std::move(report);
      done = true;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < jobs; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return campaign;
}

std::string failureText(const ClientCampaign& campaign, bool shrinks) {
  if (!campaign.failed) return {};
  ClientOptions small = *campaign.failed;  // without the faults that the failure does not need
  for (std::size_t i = 0; i < disturbances && shrinks; ++i) {
    ClientOptions fewer = small;
    fewer.allowed.reset(i);
    if (small.allowed.test(i) && simulateClients(fewer).oracle == campaign.failure.oracle) small = fewer;
  }
  return "seed " + std::to_string(campaign.failed->seed) + "\n  broke:   " + campaign.failure.oracle + ": " +
         campaign.failure.text + "\n  world:   " + campaign.failure.configuration +
         "\n  replay:  " + clientReplay(*campaign.failed) + '\n' +
         (shrinks ? "  shrunk:  " + clientReplay(small) + '\n' : "");
}

}  // namespace tenure::test
