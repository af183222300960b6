// Measures how long nobody leads after the leader was stopped politely.
#include <optional>
#include <signal.h>
#include <thread>

#include <fmt/core.h>

#include "bench_store.hpp"
#include "benches.hpp"
#include "fleet.hpp"
#include "stats.hpp"

namespace tenure::bench {
namespace {

/// Candidates and what their hand-overs took.
struct Contest {
  Contest(const Scratch& scratch, const std::string& name, int processes, CandidateSettings settings)
      : fleet{processes, on(scratch.path(name), std::move(settings))} {
    fleet.awaitReady();
  }

  void handOver() {
    const int leader = fleet.leader();
    const std::int64_t term = fleet.slot(leader).token.load();
    const std::atomic<std::int64_t>& releasedAt = fleet.slot(leader).releasedAt;
    fleet.slot(leader).releasedAt.store(0);
    const std::int64_t askedAt = boottimeNow();
    fleet.send(leader, SIGTERM);
    const int successor = fleet.awaitSuccessor(term);
    // On a busy machine the successor may be elected before the leader learns that its release was committed.
    await([&] { return releasedAt.load() != 0; }, "the acknowledgement of the release");
    const std::int64_t electedAt = fleet.slot(successor).electedAt.load();
    sinceReleased.add(millis(electedAt - releasedAt.load()));
    sinceAsked.add(millis(electedAt - askedAt));
    fleet.restart(leader);
  }
  void print(const std::string& successor) const {
    sinceReleased.print("release acknowledged -> " + successor);
    sinceAsked.print("SIGTERM -> " + successor);
  }

  Fleet fleet;
  Sample sinceReleased{};
  Sample sinceAsked{};

 private:
  static CandidateSettings on(std::string board, CandidateSettings settings) {
    settings.board = std::move(board);
    return settings;
  }
};

}  // namespace

bool benchHandover(const Options& options) {
  fmt::print("handover: {} processes, lease {} ms, heartbeat {} ms, {} polite stops\n", options.processes,
             options.lease.count(), options.heartbeat.count(), options.rounds);
  const Scratch scratch;
  CandidateSettings settings;
  settings.database = whereFor(options.store, scratch.path("leases.db"));
  settings.lease = options.lease;
  settings.heartbeat = options.heartbeat;
  Contest contest{scratch, "board", options.processes, settings};
  std::optional<Contest> peers;  // in turns, so that a busy disk slows both equally
  if (const auto others = peersOf(settings)) peers.emplace(scratch, "peers", options.processes, *others);
  SeededPhases phases{options.seed};
  for (int i = 0; i < options.rounds; ++i) {
    // Candidates have watched the leader for a lease by then, as in practice, and act on what the store shows.
    std::this_thread::sleep_for(options.lease + std::chrono::milliseconds{50} + phases.next(options.heartbeat));
    contest.handOver();
    if (peers) {
      std::this_thread::sleep_for(std::chrono::milliseconds{50} + phases.next(options.heartbeat));
      peers->handOver();
    }
    progress(i + 1, options.rounds, "polite stops of the leader");
  }
  contest.fleet.quit();
  contest.print("successor's onElected");
  if (peers) {
    peers->fleet.quit();
    peers->print("concurrency.Election's successor");
    return verdict("p50 from SIGTERM, of concurrency.Election's",
                   contest.sinceAsked.percentile(0.5) / peers->sinceAsked.percentile(0.5), 1, "x");
  }
  if (isEtcd(settings.database) || isKubernetes(settings.database)) return true;
  const Sample& gap = contest.sinceReleased;
  bool holds = verdict("p50", gap.percentile(0.5), boundOfTwoCommits(settings.database, 5, 1), "ms");
  if (options.store == "sqlite") holds &= verdict("p99", gap.percentile(0.99), 30, "ms");
  return holds;
}

}  // namespace tenure::bench
