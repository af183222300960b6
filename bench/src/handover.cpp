// Measures how long nobody leads after the leader was stopped politely.
#include <signal.h>
#include <thread>

#include <fmt/core.h>

#include "bench_store.hpp"
#include "benches.hpp"
#include "fleet.hpp"
#include "stats.hpp"

namespace tenure::bench {

bool benchHandover(const Options& options) {
  fmt::print("handover: {} processes, lease {} ms, heartbeat {} ms, {} polite stops\n", options.processes,
             options.lease.count(), options.heartbeat.count(), options.rounds);
  const Scratch scratch;
  CandidateSettings settings;
  settings.board = scratch.path("board");
  settings.database = whereFor(options.store, scratch.path("leases.db"));
  settings.lease = options.lease;
  settings.heartbeat = options.heartbeat;
  Fleet fleet{options.processes, settings};
  fleet.awaitReady();
  SeededPhases phases{options.seed};
  Sample gap;
  for (int i = 0; i < options.rounds; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{50} + phases.next(options.heartbeat));
    const int leader = fleet.leader();
    const std::int64_t term = fleet.slot(leader).token.load();
    const std::atomic<std::int64_t>& releasedAt = fleet.slot(leader).releasedAt;
    fleet.slot(leader).releasedAt.store(0);
    fleet.send(leader, SIGTERM);
    const int successor = fleet.awaitSuccessor(term);
    // On a busy machine the successor may be elected before the leader learns that its release was committed.
    await([&] { return releasedAt.load() != 0; }, "the acknowledgement of the release");
    gap.add(static_cast<double>(fleet.slot(successor).electedAt.load() - releasedAt.load()) / 1e6);
    fleet.restart(leader);
    progress(i + 1, options.rounds, "polite stops of the leader");
  }
  fleet.quit();
  gap.print("release acknowledged -> successor's onElected");
  bool holds = verdict("p50", gap.percentile(0.5), boundOfTwoCommits(settings.database, 5, 1), "ms");
  if (options.store == "sqlite") holds &= verdict("p99", gap.percentile(0.99), 30, "ms");
  return holds;
}

}  // namespace tenure::bench
