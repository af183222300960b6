// Measures how long nobody leads after the leader was killed.
#include <filesystem>
#include <future>
#include <signal.h>
#include <sys/file.h>
#include <thread>

#include <fmt/core.h>

#include "bench_store.hpp"
#include "benches.hpp"
#include "fleet.hpp"
#include "lockcore/liveness/liveness_file.hpp"
#include "stats.hpp"

namespace tenure::bench {
namespace {

struct Result {
  Sample fromRenewal{};  ///< since the last renewal that was applied
  Sample excess{};       ///< the part of it beyond one lease; nobody may take over earlier
  Sample fromKill{};
  Sample floor{};      ///< of the same kills, with the notice: until the kernel has dropped the victim's lock
  Sample overFloor{};  ///< what came after that
};

UniqueFd livenessFileOf(pid_t pid) {
  for (const auto& entry : std::filesystem::directory_iterator{fmt::format("/proc/{}/fd", pid)}) {
    std::error_code closed;
    const std::filesystem::path file = std::filesystem::read_symlink(entry.path(), closed);
    if (file.filename().string().starts_with(liveness::livenessFilePrefix)) {
      return liveness::openLivenessFileToLook(file.string());
    }
  }
  return {};
}

/// When the kernel has dropped the lock on the liveness file of this process. Nobody can have proof earlier.
std::future<std::int64_t> unlockingOf(pid_t pid) {
  return std::async(std::launch::async, [file = livenessFileOf(pid)] {
    if (flock(file.get(), LOCK_SH) != 0) throw std::runtime_error("the leader has no liveness file");
    return boottimeNow();
  });
}

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
    std::this_thread::sleep_for(options.heartbeat);
    const int leader = fleet.leader();
    std::future<std::int64_t> unlocking;
    if (settings.deathNotice) unlocking = unlockingOf(fleet.pids().at(static_cast<std::size_t>(leader)));
    std::this_thread::sleep_for(std::chrono::milliseconds{50} + phases.next(options.heartbeat));
    const std::int64_t term = fleet.slot(leader).token.load();
    const std::int64_t killedAt = boottimeNow();
    fleet.send(leader, SIGKILL);
    const int successor = fleet.awaitSuccessor(term);
    const std::int64_t electedAt = fleet.slot(successor).electedAt.load();
    const double fromRenewal = millis(electedAt - fleet.slot(leader).appliedAt.load());
    result.fromRenewal.add(fromRenewal);
    result.excess.add(fromRenewal - static_cast<double>(options.lease.count()));
    result.fromKill.add(millis(electedAt - killedAt));
    if (unlocking.valid()) {
      const std::int64_t unlockedAt = unlocking.get();
      result.floor.add(millis(unlockedAt - killedAt));
      result.overFloor.add(millis(electedAt - unlockedAt));
    }
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

  fmt::print("crash notice off: the lease decides\n");
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

  fmt::print("crash notice on: the kernel's proof decides\n");
  const Result on = killLeaders(options, true);
  on.floor.print("SIGKILL -> the kernel has dropped the victim's lock (floor)");
  on.fromKill.print("SIGKILL -> successor's onElected, notice on");
  on.overFloor.print("  over the floor");
  holds &= verdict("p50, notice on", on.fromKill.percentile(0.5), boundOfTwoCommits(where, 5, 5), "ms");
  if (isPostgresql(where)) return holds;
  holds &= verdict("p99, notice on", on.fromKill.percentile(0.99), 30, "ms");
  holds &= verdict("p50 over the floor", on.overFloor.percentile(0.5), 2, "ms");
  return verdict("p99 over the floor", on.overFloor.percentile(0.99), 6, "ms") && holds;
}

}  // namespace tenure::bench
