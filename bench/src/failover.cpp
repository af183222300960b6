// Measures how long nobody leads after the leader was killed.
#include <signal.h>
#include <thread>

#include <fmt/core.h>

#include "bench_store.hpp"
#include "benches.hpp"
#include "fleet.hpp"
#include "stats.hpp"

namespace tenure::bench {
namespace {

struct Result {
  Sample fromRenewal{};  ///< since the last renewal that was applied
  Sample excess{};       ///< the part of it beyond one lease; nobody may take over earlier
  Sample fromKill{};
};

CandidateSettings settingsFor(const Options& options, const Scratch& scratch, bool deathNotice) {
  CandidateSettings settings;
  settings.board = scratch.path("board");
  settings.database = whereFor(options.store, scratch.path("leases.db"));
  settings.lease = options.lease;
  settings.heartbeat = options.heartbeat;
  settings.deathNotice = deathNotice;
  return settings;
}

Result killLeaders(const Options& options, const CandidateSettings& settings) {
  Fleet fleet{options.processes, settings};
  fleet.awaitReady();
  SeededPhases phases{options.seed};
  Result result;
  for (int i = 0; i < options.rounds; ++i) {
    // Waits until after the first renewal, and then for a random phase of the heartbeat.
    std::this_thread::sleep_for(options.heartbeat + std::chrono::milliseconds{50} + phases.next(options.heartbeat));
    const int leader = fleet.leader();
    const std::int64_t term = fleet.slot(leader).token.load();
    const std::int64_t killedAt = boottimeNow();
    fleet.send(leader, SIGKILL);
    const int successor = fleet.awaitSuccessor(term);
    const std::int64_t electedAt = fleet.slot(successor).electedAt.load();
    const double fromRenewal = millis(electedAt - fleet.slot(leader).appliedAt.load());
    result.fromRenewal.add(fromRenewal);
    result.excess.add(fromRenewal - static_cast<double>(options.lease.count()));
    result.fromKill.add(millis(electedAt - killedAt));
    fleet.restart(leader);
    progress(i + 1, options.rounds, "SIGKILLs of the leader");
  }
  fleet.quit();
  return result;
}

Result killLeaders(const Options& options, bool deathNotice) {
  const Scratch scratch;
  return killLeaders(options, settingsFor(options, scratch, deathNotice));
}

void killPeers(const Options& options) {
  const Scratch scratch;
  const auto peers = peersOf(settingsFor(options, scratch, false));
  if (peers) killLeaders(options, *peers).fromKill.print("SIGKILL -> concurrency.Election's successor");
}

}  // namespace

bool benchFailover(const Options& options) {
  const double lease = static_cast<double>(options.lease.count());
  fmt::print("failover: {} processes, lease {} ms, heartbeat {} ms, {} SIGKILLs at random phases\n", options.processes,
             options.lease.count(), options.heartbeat.count(), options.rounds);

  fmt::print("death notice off: the lease decides\n");
  const Result off = killLeaders(options, false);
  off.fromRenewal.print("last applied renewal -> successor's onElected");
  off.excess.print("  over the earliest safe instant (last renewal + 1 lease)");
  off.fromKill.print("SIGKILL -> successor's onElected");
  bool holds = true;
  const std::string where = whereFor(options.store, "");
  // Renewals notify nobody on PostgreSQL, so a challenger sees the last one up to a poll later.
  if (!isPostgresql(where)) {
    holds &= verdict("p50, in leases", off.fromRenewal.percentile(0.5) / lease, 1.01, "leases");
    holds &= verdict("p99, in leases", off.fromRenewal.percentile(0.99) / lease, 1.05, "leases");
  }
  if (isKubernetes(where)) return holds;
  if (isEtcd(where)) {
    killPeers(options);
    return holds;
  }
  if (options.store == "sqlite") {
    holds &= verdict("p50 of the excess", off.excess.percentile(0.5), 5, "ms");
    holds &= verdict("p99 of the excess", off.excess.percentile(0.99), 30, "ms");
  }

  fmt::print("death notice on: the kernel's proof decides\n");
  const Result on = killLeaders(options, true);
  on.fromKill.print("SIGKILL -> successor's onElected, notice on");
  holds &= verdict("p50, notice on", on.fromKill.percentile(0.5), boundOfTwoCommits(where, 5, 5), "ms");
  if (!isPostgresql(where)) holds &= verdict("p99, notice on", on.fromKill.percentile(0.99), 30, "ms");
  return holds;
}

}  // namespace tenure::bench
