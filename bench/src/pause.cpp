// Measures what a paused leader believes and does after it wakes.
#include <signal.h>
#include <thread>

#include <fmt/core.h>

#include "benches.hpp"
#include "fleet.hpp"
#include "ledger.hpp"
#include "stats.hpp"

namespace tenure::bench {
namespace {

struct Totals {
  std::int64_t elected{0}, revoked{0}, overlaps{0}, checks{0}, believedTooLong{0}, accepted{0}, refused{0};
};

Totals addUp(Fleet& fleet) {
  Totals all;
  for (int i = 0; i < fleet.size(); ++i) {
    const Slot& slot = fleet.slot(i);
    all.elected += slot.elected.load();
    all.revoked += slot.revoked.load();
    all.overlaps += slot.overlaps.load();
    all.checks += slot.checks.load();
    all.believedTooLong += slot.believedTooLong.load();
    all.accepted += slot.rowsAccepted.load();
    all.refused += slot.rowsRefused.load();
  }
  return all;
}

}  // namespace

bool benchPause(const Options& options) {
  fmt::print("pause: {} processes, lease {} ms, heartbeat {} ms, {} SIGSTOPs of 0.1 to 3 leases\n", options.processes,
             options.lease.count(), options.heartbeat.count(), options.rounds);
  const Scratch scratch;
  CandidateSettings settings;
  settings.board = scratch.path("board");
  settings.database = scratch.path("leases.db");
  settings.ledger = scratch.path("ledger.db");
  settings.lease = options.lease;
  settings.heartbeat = options.heartbeat;
  Ledger::create(settings.ledger);
  Fleet fleet{options.processes, settings};
  fleet.awaitReady();
  SeededPhases phases{options.seed};
  for (int i = 0; i < options.rounds; ++i) {
    std::this_thread::sleep_for(phases.next(options.heartbeat));
    const int leader = fleet.leader();
    fleet.send(leader, SIGSTOP);
    std::this_thread::sleep_for(options.lease / 10 + phases.next(options.lease * 29 / 10));
    fleet.send(leader, SIGCONT);
    progress(i + 1, options.rounds, "SIGSTOPs of the leader");
  }
  fleet.quit();

  const Totals all = addUp(fleet);
  const Ledger::Audit audit = Ledger::audit(settings.ledger);
  fmt::print("  {} terms, {} isLeader() checks, {} rows accepted, {} writes refused by the fence\n", all.elected,
             all.checks, all.accepted, all.refused);
  fmt::print("  independent reader: {} rows of {} terms in the ledger\n", audit.rows, audit.terms);
  bool holds = verdict("isLeader() true past validity", static_cast<double>(all.believedTooLong), 0, "times");
  holds &= verdict("onElected without its onRevoked, or the reverse", static_cast<double>(all.overlaps), 0, "times");
  holds &= verdict("onElected minus onRevoked after the end", static_cast<double>(all.elected - all.revoked), 0, "");
  holds &= verdict("stale rows in the ledger", static_cast<double>(audit.staleRows), 0, "rows");
  holds &= verdict("rows acknowledged but missing", static_cast<double>(all.accepted - audit.rows), 0, "rows");
  const bool meaningful =
      all.elected > options.rounds / 4 && audit.rows > options.rounds && all.checks > options.rounds;
  if (!meaningful) fmt::print("  MISSED the run saw too few terms, rows or checks to mean anything\n");
  return holds && meaningful;
}

}  // namespace tenure::bench
