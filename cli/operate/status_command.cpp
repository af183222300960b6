#include <csignal>
#include <poll.h>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/clock.hpp>

#include "cli/commands.hpp"
#include "cli/group/config_file.hpp"
#include "cli/group/store_calls.hpp"
#include "cli/lock/lock_watch.hpp"
#include "cli/process/signals.hpp"
#include "cli/process/wakeups.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/lease_view.hpp"
#include "cli/text/output.hpp"
#include "config/src/duration.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure::cli {
namespace {

struct StatusArguments {
  std::string config;
  bool json{false};
  bool watch{false};
};

/// Polls instead of being notified: a store may keep files for its watchers, and a command that only reads must leave
/// none.
constexpr std::chrono::milliseconds refreshPeriod{500};
constexpr const char* clearScreen = "\033[H\033[2J";

int codeOf(const LeaseView& view) { return view.state() == LeaseViewState::held ? exitOk : exitNobody; }

/// What must differ for a new line to be printed: a mere renewal does not count.
std::string essence(const LeaseView& view) {
  const std::string who = view.record ? view.record->holder + '#' + toString(view.record->token) : "";
  const std::string length = view.pause ? durationText(view.record->leaseDuration) : "";
  return std::to_string(static_cast<int>(view.state())) + who + length + view.address + view.warning;
}

/// Looks again and again, so that it can say whether the lease is renewed.
class LeaseLooks {
 public:
  explicit LeaseLooks(const LeaseOfGroup& lease) : lease_{lease} {}

  [[nodiscard]] StoreResult<LeaseView> next() {
    const Instant sent = readClock();
    StoreResult<LeaseLook> look = lookNow(*lease_.store, lease_.key);
    if (!look) return look.error();
    std::vector<ListedLease> seen;
    if (look->record) seen.push_back({lease_.key, *look->record});
    watch_.see(sent, readClock(), seen);
    LeaseView view =
        viewOf(lease_.key.name, lease_.store->describe(), std::move(look->record), wallClockMillisForDisplay());
    view.warning = std::move(look->warning);
    for (const LockWatch::Row& row : watch_.rows()) {
      view.unrenewedFor = row.unrenewedFor;
      view.seenRenewed = row.state == LockState::renewed;
    }
    return view;
  }

 private:
  const LeaseOfGroup& lease_;
  LockWatch watch_;
};

/// The wall clocks alone call nobody silent.
StoreResult<LeaseView> judged(const LeaseOfGroup& lease) {
  constexpr std::chrono::seconds quiet{2};
  LeaseLooks looks{lease};
  WakeTimer timer;
  bool explained = false;
  for (;;) {
    StoreResult<LeaseView> view = looks.next();
    if (!view || !view->isDoubtful()) return view;
    if (view->unrenewedFor > quiet && !std::exchange(explained, true)) {
      complain("the clocks of this machine and of " + shown(nameOf(view->record->holder), mostOfHolder) +
               " differ, or it is silent; watches for at most " + durationText(view->record->leaseDuration / 2) +
               " whether it renews");
    }
    timer.arm(refreshPeriod);
    pollfd entry{timer.descriptor(), POLLIN, 0};
    poll(&entry, 1, -1);
    timer.drain();
  }
}

class StatusWatch {
 public:
  StatusWatch(const StatusArguments& arguments, const LeaseOfGroup& lease, const SignalState& signals)
      : arguments_{arguments}, lease_{lease}, looks_{lease}, events_{signals.heeded({SIGINT, SIGTERM, SIGHUP})} {}

  /// Runs until ^C or a terminate signal.
  int run() {
    neverWaitForReaders();  // the signals are read here
    while (!isAskedToStop()) {
      if (!show()) return stops_ ? exitOk : exitFailed;
      timer_.arm(refreshPeriod);
      pollfd entries[] = {{events_.descriptor(), POLLIN, 0}, {timer_.descriptor(), POLLIN, 0}};
      poll(entries, std::size(entries), -1);
      timer_.drain();
    }
    return exitOk;
  }

 private:
  bool show() {
    const StoreResult<LeaseView> view = looks_.next();
    if (!view) return showError(view.error());
    std::string now = essence(*view);
    const bool live = !arguments_.json && isatty(STDOUT_FILENO) == 1;
    if (!live && now == shown_) return true;
    shown_ = std::move(now);
    return say(textOf(*view, live), [this] { return isAskedToStop(); });
  }

  [[nodiscard]] std::string textOf(const LeaseView& view, bool live) const {
    if (arguments_.json) return toJson(view);
    const std::string text = toTable(view, stdoutHasColours());
    return live ? clearScreen + text : text + '\n';
  }

  bool isAskedToStop() { return stops_ = stops_ || events_.next(); }

  bool showError(const StoreError& error) {
    if (shown_ != error.message) complain(faultText(*lease_.store, error));
    shown_ = error.message;
    return true;
  }

  const StatusArguments& arguments_;
  const LeaseOfGroup& lease_;
  LeaseLooks looks_;
  SignalEvents events_;
  WakeTimer timer_;
  std::string shown_;
  bool stops_{false};
};

int execute(const StatusArguments& arguments, const SignalState& signals) {
  const auto config = loadUnshardedOrComplain(arguments.config);
  if (!config) return exitUsage;
  const LeaseOfGroup lease = leaseOf(*config);
  if (arguments.watch) return StatusWatch{arguments, lease, signals}.run();
  const StoreResult<LeaseView> view = judged(lease);
  if (!view) {
    complain(faultText(*lease.store, view.error()));
    return exitStore;
  }
  if (!say(arguments.json ? toJson(*view) : toTable(*view, stdoutHasColours()))) return exitFailed;
  return codeOf(*view);
}

}  // namespace

Command statusCommand() {
  const auto declare = [](Options& options, StatusArguments& to) {
    options.groupFile(to.config)
        .flag("--json", to.json, "one JSON object on one line, with stable keys")
        .flag("--watch", to.watch, "print it again at each change, until ^C");
  };
  return {
      .name = "status",
      .summary = "show who leads",
      .about =
          R"(Reads the store and changes nothing. The times are by the wall clock of the leader's machine, for people. A leader
that seems silent by them is watched for half of its lease before it is called so.)",
      .exits = {{"0", "a copy leads"},
                {"83", "the store cannot be reached"},
                {"84", "there is no leader, the group is paused, or the holder did not renew while it was watched"}},
      .examples = {"tenure status --config group.yaml", "tenure status --config group.yaml --json | jq .fencing_token"},
      .options = optionsOf<StatusArguments>(declare, execute),
  };
}

}  // namespace tenure::cli
