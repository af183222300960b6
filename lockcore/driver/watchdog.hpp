// Internal: what happens at a term's deadline even if no thread of the scheduler runs then.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <tenure/lockcore/logger.hpp>

#include "lease_driver.hpp"
#include "lockcore/runtime/stop_signal.hpp"
#include "lockcore/runtime/thread_pool.hpp"
#include "term_cell.hpp"

namespace tenure {

/// How a process ends itself if its work outlasts the lease.
struct Termination {
  int exitCode;
  Logger logger;
  std::string line;                          ///< is logged before the end
  std::shared_ptr<std::atomic<bool>> ended;  ///< true: the work has ended, so the process goes on
};

/// A term as the watchdog knows it. It judges by the published state and by the system's clock.
struct WatchedTerm {
  std::shared_ptr<const TermCell> cell;
  FencingToken token;
  std::weak_ptr<StopSignal> stop;                    ///< fired when the term does not lead any more
  std::weak_ptr<LeaseDriver> driver;                 ///< gets the term's end at that moment
  std::shared_ptr<ThreadPool> lane;                  ///< where user code may run
  std::shared_ptr<const Termination> termination{};  ///< for when the validity ends; null: the process goes on
};

/// A term is watched as long as this object lives. Any thread.
class TermWatch {
 public:
  virtual ~TermWatch() = default;
  /// The deadline has passed and was noticed on time, so the process was running. If the scheduler did not notice it,
  /// the scheduler was blocked.
  [[nodiscard]] bool wasOnTime() const noexcept { return onTime_.load(); }

 protected:
  std::atomic<bool> onTime_{false};
};

/// There is one thread for the process, named `tenure-watchdog`. It runs no user code and waits for nobody: not for a
/// scheduler, a lane, a log sink or a store. A forked child has its own. A renewal costs it nothing: it reads the
/// published state when the old deadline comes near.
[[nodiscard]] std::shared_ptr<TermWatch> watchTerm(WatchedTerm term);

/// The thread is there as long as somebody keeps it, and a while longer: a candidate keeps it, so that no term has to
/// do without. Throws std::system_error if the system gives no thread or no timer.
[[nodiscard]] std::shared_ptr<void> keepWatchdog();

/// Why a term ended, where the machine only knows that nobody called its step().
[[nodiscard]] inline std::string whyRevoked(const action::Revoked& revoked, const TermWatch* watch) {
  if (!revoked.unstepped || watch == nullptr || !watch->wasOnTime()) return revoked.detail;
  return "the thread that renews the lease was blocked while the process ran: by a task on its loop, a log sink, an "
         "executor or a call of the store that did not return";
}

}  // namespace tenure
