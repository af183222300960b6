// Many leases of one process, acquired at once: is any heartbeat late?
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include <tenure/election/leader_elector.hpp>

#include "bench_store.hpp"
#include "benches.hpp"
#include "cpu_time.hpp"
#include "fleet.hpp"
#include "stats.hpp"
#ifdef TENURE_WITH_DYNAMODB
#include "stub_server.hpp"
#endif

namespace tenure::bench {
namespace {

struct Counters {
  std::atomic<int> elected{0};
  std::atomic<int> revoked{0};
  std::atomic<int> doubts{0};
};

/// The renewals of a lease as the elector reports them: their number, and the longest time between two of them.
struct Beats {
  std::atomic<std::int64_t> last{0};
  std::atomic<std::int64_t> longestGap{0};
  std::atomic<int> count{0};
};

std::unique_ptr<LeaderElector> competeFor(int index, const Options& options, const std::shared_ptr<LeaseStore>& store,
                                          Counters& counters, Beats& beats) {
  LeaseOptions lease;
  lease.duration = options.lease;
  lease.heartbeat = options.heartbeat;
  Listener listener;
  listener.onElected = [&](const Leadership&) { ++counters.elected; };
  listener.onRevoked = [&](const TermEnd&) { ++counters.revoked; };
  listener.onInDoubt = [&](const Doubt&) { ++counters.doubts; };
  listener.onRenewed = [&beats](const Renewal&) {
    const std::int64_t now = readClock().boottime.count();
    const std::int64_t last = beats.last.exchange(now);
    if (last != 0) beats.longestGap.store(std::max(beats.longestGap.load(), now - last));
    ++beats.count;
  };
  const Group group = Group::make({"lease-" + std::to_string(index), {"bench"}, lease}, store).value();
  auto elector = std::make_unique<LeaderElector>(group, std::move(listener));
  elector->start();
  return elector;
}

struct Lag {
  double last;  ///< in ms, as is `worst`
  double worst;
};

Lag lagOf(const LeaderElector& elector) {
  const LeaseStatus lease = elector.status().lease;
  return {static_cast<double>(lease.heartbeatLag.count()) / 1e6,
          static_cast<double>(lease.worstHeartbeatLag.count()) / 1e6};
}

using Electors = std::vector<std::unique_ptr<LeaderElector>>;

Sample lagsOfSeconds(const Electors& electors, const Options& options) {
  Sample lag;
  for (int second = 0; second < options.rounds; ++second) {
    std::this_thread::sleep_for(std::chrono::seconds{1});
    // After one heartbeat each lease has been renewed since all were won.
    const bool sampled = std::chrono::seconds{second + 1} > options.heartbeat;
    for (std::size_t i = 0; sampled && i < electors.size(); ++i) lag.add(lagOf(*electors[i]).last);
    progress(second + 1, options.rounds, "seconds");
  }
  return lag;
}

struct Gaps {
  Sample longest{};
  std::int64_t renewals{0};
  int missed{0};  ///< leases with an acknowledged renewal that came more than half a heartbeat after it was due
};

Gaps gapsIn(const std::vector<Beats>& beats, const Options& options) {
  Gaps gaps;
  const double due = static_cast<double>(options.heartbeat.count()) * 1.5;
  for (const Beats& lease : beats) {
    const double gap = static_cast<double>(lease.longestGap.load()) / 1e6;
    gaps.longest.add(gap);
    gaps.renewals += lease.count.load();
    gaps.missed += gap > due || lease.count.load() < options.rounds * 1000 / options.heartbeat.count() - 1 ? 1 : 0;
  }
  return gaps;
}

std::int64_t renewalsOf(const std::vector<Beats>& beats) {
  std::int64_t sum = 0;
  for (const Beats& lease : beats) sum += lease.count.load();
  return sum;
}

/// Of etcd's members, which have nothing else to do.
double cpuOfServers() {
#ifdef TENURE_BENCH_ETCD
  return cpuSecondsOf(etcdServers());
#else
  return 0;
#endif
}

}  // namespace

bool benchLeases(const Options& options) {
  fmt::print("leases: {} leases in one process on {}, lease {} ms, heartbeat {} ms, {} s\n", options.leases,
             options.store, options.lease.count(), options.heartbeat.count(), options.rounds);
  const Scratch scratch;
  const std::string where = whereFor(options.store, scratch.path("leases.db"));
#ifdef TENURE_WITH_DYNAMODB
  const StubServer server{std::chrono::milliseconds{0}};
  const bool stubbed = options.store == "dynamodb";
  const auto store = stubbed ? server.store() : storeAt(where, true, scratch.path(""));
#else
  const auto store = storeAt(where, true, scratch.path(""));
#endif
#ifdef TENURE_BENCH_POSTGRESQL
  const auto commits = [&] { return isPostgresql(where) ? PostgresqlByHand{where}.commits() : 0; };
#endif
  Counters counters;
  std::vector<Beats> beats(static_cast<std::size_t>(options.leases));
  Electors electors;
  const double memoryBefore = residentKiB();
  for (int i = 0; i < options.leases; ++i) {
    electors.push_back(competeFor(i, options, store, counters, beats.at(static_cast<std::size_t>(i))));
  }
  // Each acquisition is a commit of its own; a disk makes some hundred of them in a second.
  const Instant began = readClock();
  await([&] { return counters.elected.load() == options.leases; }, "all leases to be won", std::chrono::minutes{5});
  figure("until all leases were won", static_cast<double>(elapsedForHolder(began, readClock()).count()) / 1e9, "s");
  const std::int64_t renewalsBefore = renewalsOf(beats);
  const double cpuBefore = cpuSeconds();
  const double serversBefore = cpuOfServers();
#ifdef TENURE_BENCH_POSTGRESQL
  const long commitsBefore = commits();
#endif
  const Sample lag = lagsOfSeconds(electors, options);
  const double cpu = cpuSeconds() - cpuBefore;
  [[maybe_unused]] const double serversCpu = cpuOfServers() - serversBefore;
  const double memory = residentKiB() - memoryBefore;
  const Gaps gaps = gapsIn(beats, options);
  const std::int64_t renewals = gaps.renewals - renewalsBefore;
  Sample worst;
  for (const auto& elector : electors) worst.add(lagOf(*elector).worst);
  lag.print("heartbeat lag, of each lease at each second");
  worst.print("worst heartbeat lag of a lease, its first included");
  gaps.longest.print("longest time between two heartbeats of a lease");
  fmt::print("  {} renewals, {:.0f} us of CPU each; {:.1f} KiB of memory for an elector and its lease\n", renewals,
             cpu * 1e6 / static_cast<double>(renewals), memory / options.leases);
  bool holds = verdict("leases with a missed heartbeat", gaps.missed, 0, "");
#ifdef TENURE_BENCH_POSTGRESQL
  if (isPostgresql(where)) {
    const double each = static_cast<double>(commits() - commitsBefore) / options.rounds;
    holds &= verdict("commits a second", each, 400, "");
  }
#endif
  holds &= verdict("leases lost", counters.revoked.load(), 0, "");
  holds &= verdict("doubts", counters.doubts.load(), 0, "");
  for (const auto& elector : electors) elector->requestStop();
  electors.clear();
#ifdef TENURE_BENCH_ETCD
  if (isEtcd(where)) holds &= besideElections(options, where, Cpu{cpu, serversCpu} / options.rounds);
#endif
  return holds;
}

}  // namespace tenure::bench
