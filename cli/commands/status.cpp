#include <csignal>
#include <optional>
#include <poll.h>
#include <string>
#include <unistd.h>
#include <utility>

#include <tenure/lockcore/clock.hpp>

#include "cli/exit_codes.hpp"
#include "cli/lease_view.hpp"
#include "cli/output.hpp"
#include "cli/signals.hpp"
#include "cli/store_calls.hpp"
#include "cli/wakeups.hpp"
#include "commands.hpp"
#include "config/src/duration.hpp"
#include "config_file.hpp"

namespace tenure::cli {
namespace {

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

StoreResult<LeaseView> lookAt(const LeaseOfGroup& lease) {
  StoreResult<LeaseLook> look = lookNow(*lease.store, lease.key);
  if (!look) return look.error();
  LeaseView view =
      viewOf(lease.key.name, lease.store->describe(), std::move(look->record), wallClockMillisForDisplay());
  view.warning = std::move(look->warning);
  return view;
}

class StatusWatch {
 public:
  StatusWatch(const StatusArguments& arguments, const LeaseOfGroup& lease, const SignalState& signals)
      : arguments_{arguments}, lease_{lease}, events_{signals.heeded({SIGINT, SIGTERM, SIGHUP})} {}

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
    const StoreResult<LeaseView> view = lookAt(lease_);
    if (!view) return showTrouble(view.error());
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

  bool showTrouble(const StoreError& error) {
    if (shown_ != error.message) complain(faultText(*lease_.store, error));
    shown_ = error.message;
    return true;
  }

  const StatusArguments& arguments_;
  const LeaseOfGroup& lease_;
  SignalEvents events_;
  WakeTimer timer_;
  std::string shown_;
  bool stops_{false};
};

}  // namespace

int statusCommand(const StatusArguments& arguments, const SignalState& signals) {
  const auto config = loadUnshardedOrComplain(arguments.config);
  if (!config) return exitUsage;
  const LeaseOfGroup lease = leaseOf(*config);
  if (arguments.watch) return StatusWatch{arguments, lease, signals}.run();
  const StoreResult<LeaseView> view = lookAt(lease);
  if (!view) {
    complain(faultText(*lease.store, view.error()));
    return exitStore;
  }
  if (!say(arguments.json ? toJson(*view) : toTable(*view, stdoutHasColours()))) return exitFailed;
  return codeOf(*view);
}

}  // namespace tenure::cli
