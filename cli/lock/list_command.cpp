// `tenure lock list` and `tenure lock prune`.
#include <algorithm>
#include <optional>
#include <poll.h>
#include <string>

#include <tenure/lockcore/clock.hpp>

#include "cli/commands.hpp"
#include "cli/group/store_calls.hpp"
#include "cli/process/wakeups.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/output.hpp"
#include "config/src/duration.hpp"
#include "lock_arguments.hpp"
#include "lock_store.hpp"
#include "lock_view.hpp"
#include "lock_watch.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// A user who waits is told from time to time how far the watch is, or the pruning.
constexpr std::chrono::seconds progressPeriod{10};
constexpr std::size_t progressRows = 100;

int failedBy(const StoreError& error, const LeaseStore& store, const LockArguments& arguments) {
  return failed(arguments, {LockErrc::storeUnavailable, faultText(store, error)});
}

/// Gives the watch a listing of now. Empty: success.
std::optional<StoreError> listInto(LockWatch& watch, LeaseStore& store, const std::string& prefix) {
  const Instant sentAt = readClock();
  const ListOutcome listing = listNow(store, prefix);
  if (!listing) return listing.error();
  watch.see(sentAt, readClock(), *listing);
  return std::nullopt;
}

/// Counts as LockWatch does, elapsedForChallenger(): by another clock the next listing could come a moment too early to
/// find a lease over. `what`: for the reports of progress.
void waitFor(milliseconds time, const std::string& what) {
  const Instant from = readClock();
  WakeTimer timer;
  for (nanoseconds told{0};;) {
    const nanoseconds spent = elapsedForChallenger(from, readClock());
    if (spent >= time) return;
    if (spent - told >= progressPeriod) {
      told = spent;
      complain(what + ": " + durationText(std::chrono::floor<std::chrono::seconds>(spent)) + " of " +
               durationText(time));
    }
    timer.arm(std::min<nanoseconds>(time - spent, progressPeriod));
    pollfd entry{timer.descriptor(), POLLIN, 0};
    poll(&entry, 1, -1);
    timer.drain();
  }
}

int list(const LockArguments& arguments) {
  const auto config = lockConfigOrComplain(arguments);
  if (!config) return exitUsage;
  const std::shared_ptr<LeaseStore> store = lockStore(*config);
  LockWatch watch;
  if (auto error = listInto(watch, *store, arguments.target)) return failedBy(*error, *store, arguments);
  if (arguments.watch) {
    waitFor(*arguments.watch, "watching");
    if (auto error = listInto(watch, *store, arguments.target)) return failedBy(*error, *store, arguments);
  }
  const std::vector<LockWatch::Row> rows = watch.rows();
  std::string text = arguments.json ? std::string{} : listTable(rows, stdoutHasColours());
  for (const LockWatch::Row& row : rows) {
    if (arguments.json) text += toJson(row, store->describe());
    if (!row.warning.empty()) complain("lock " + toString(row.key) + ": " + row.warning);
  }
  return say(text) ? exitOk : exitFailed;
}

/// One run of `tenure lock prune`. Without --yes it removes nothing, and reports and counts what it would remove.
class Pruning {
 public:
  Pruning(const LockArguments& arguments, LeaseStore& store) : arguments_{arguments}, store_{store} {}

  int run() {
    if (auto error = listInto(watch_, store_, arguments_.target)) return failedBy(*error, store_, arguments_);
    if (arguments_.abandoned) {
      if (auto error = watchHeld(*arguments_.abandoned)) return failedBy(*error, store_, arguments_);
    }
    const std::vector<LockWatch::Row> rows = watch_.rows();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!pruneOne(rows[i])) return exitFailed;
      if ((i + 1) % progressRows == 0) complain(std::to_string(i + 1) + " of " + std::to_string(rows.size()) + " seen");
    }
    const std::string counts = std::to_string(removed_) + " removed, " + std::to_string(kept_) + " kept";
    complain(arguments_.yes ? counts : "nothing was changed; with --yes: " + counts);
    return failed_ ? exitStore : exitOk;
  }

 private:
  /// Watches until each held lock was seen renewed, or for its whole lease and `grace` not renewed.
  std::optional<StoreError> watchHeld(milliseconds grace) {
    const milliseconds time = watch_.longestWatch(grace);
    if (time.count() == 0) return std::nullopt;
    complain("watches for " + durationText(time) +
             " whether held locks are renewed, before anything is removed; ^C ends it");
    waitFor(time, "watching");
    return listInto(watch_, store_, arguments_.target);
  }

  /// False, as of all that report: the output could not be written.
  [[nodiscard]] bool pruneOne(const LockWatch::Row& row) {
    if (!LockWatch::mayBeRemoved(row, arguments_.abandoned)) {
      ++kept_;
      // That a lock in use is kept needs no line.
      return row.state != LockState::corrupt || report(row, "kept", row.record.error().message);
    }
    if (LockWatch::holdsLedger(row)) {
      ++kept_;
      return report(row, "kept", "it says which periods of a group's jobs were run");
    }
    const std::string reason = row.state == LockState::released ? "released" : "abandoned";
    if (arguments_.yes) return remove(row, reason);
    ++removed_;
    return report(row, "would_remove", reason);
  }

  /// Only at the version that was listed: a lock that somebody has acquired since is kept.
  [[nodiscard]] bool remove(const LockWatch::Row& row, const std::string& reason) {
    const WriteOutcome outcome = removeNow(store_, row.key, row.record->version);
    if (std::holds_alternative<Applied>(outcome)) {
      ++removed_;
      return report(row, "removed", reason);
    }
    ++kept_;
    if (std::holds_alternative<Conflict>(outcome)) return report(row, "kept", "it changed meanwhile");
    failed_ = true;
    const auto* rejected = std::get_if<Rejected>(&outcome);
    const StoreError& error = rejected != nullptr ? rejected->error : std::get<Unknown>(outcome).error;
    complain(faultText(store_, error));
    return report(row, rejected != nullptr ? "kept" : "unknown", error.message);
  }

  [[nodiscard]] bool report(const LockWatch::Row& row, const std::string& action, const std::string& reason) const {
    if (arguments_.json) {
      return say(R"({"lock":)" + jsonString(row.key.name) + R"(,"sort":)" + jsonSortOf(row.key) + R"(,"action":")" +
                 action + R"(","reason":)" + jsonString(reason) + "}\n");
    }
    std::string words = action;
    std::replace(words.begin(), words.end(), '_', ' ');
    return say(words + ' ' + toString(row.key) + " (" + shown(reason) + ")\n");
  }

  const LockArguments& arguments_;
  LeaseStore& store_;
  LockWatch watch_;
  std::size_t removed_{0}, kept_{0};
  bool failed_{false};  ///< the store did not remove something that it was asked to
};

int prune(const LockArguments& arguments) {
  const auto config = lockConfigOrComplain(arguments);
  if (!config) return exitUsage;
  const std::shared_ptr<LeaseStore> store = lockStore(*config);
  return Pruning{arguments, *store}.run();
}

Options& declarePrefix(Options& options, LockArguments& to) {
  declareStore(options, to);
  return options.text("PREFIX", to.target, "");
}

void declareList(Options& options, LockArguments& to) {
  declarePrefix(options, to)
      .duration("--watch DURATION", to.watch, "watch for this long before the list is printed")
      .flag("--json", to.json, "one JSON object a line");
}

void declarePrune(Options& options, LockArguments& to) {
  declarePrefix(options, to)
      .duration("--abandoned DURATION", to.abandoned, "also remove locks that no holder renews")
      .flag("--yes", to.yes, "remove, instead of saying what would be removed")
      .flag("--json", to.json, "one JSON object a line");
}

}  // namespace

Command lockListCommand() {
  return {
      .name = "lock list",
      .summary = "list all locks of a store",
      .about =
          R"(States: released; corrupt (the record is not understood; the others are still listed); held (by its record);
with --watch also renewed (its holder was seen renewing it) and stale (not renewed in a whole lease of watching). No
wall clock is used.)",
      .exits = {{"0", "listed"}, {"83", "the store cannot be reached or used"}},
      .options = optionsOf<LockArguments>(declareList, list),
  };
}

Command lockPruneCommand() {
  return {
      .name = "lock prune",
      .summary = "remove the records of abandoned locks",
      .about =
          R"(Says what it would remove; --yes removes it. These are the records of released locks, and with --abandoned those of
locks that are not renewed for their whole lease plus DURATION while this command watches them. A record that changes
meanwhile is kept, and so is one that is not understood, or that says which periods of a group's jobs were run. Fencing
counters are kept in any case: the next token of a removed lock is higher than its last.)",
      .exits = {{"0", "done"}, {"83", "the store cannot be reached, or could not remove something"}},
      .options = optionsOf<LockArguments>(declarePrune, prune),
      .holds = true,
  };
}

}  // namespace tenure::cli
