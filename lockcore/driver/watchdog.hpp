// Internal: what happens at a term's deadline even if no thread of the scheduler gets to it.
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

/// How a process ends itself whose work outlasts the lease.
struct Termination {
  int exitCode;
  Logger logger;
  std::string line;                          ///< is logged before
  std::shared_ptr<std::atomic<bool>> ended;  ///< the work has ended, and so the process goes on
};

/// A term as the watchdog knows it. It judges by the published state and by the system's clock.
struct WatchedTerm {
  std::shared_ptr<const TermCell> cell;
  FencingToken token;
  std::weak_ptr<StopSignal> stop;                    ///< fired when the term leads no more
  std::weak_ptr<LeaseDriver> driver;                 ///< told then that its term is over
  std::shared_ptr<ThreadPool> lane;                  ///< where user code may run
  std::shared_ptr<const Termination> termination{};  ///< when the term is valid no more; null: the process goes on
};

/// A term is watched as long as this lives. Any thread.
class TermWatch {
 public:
  virtual ~TermWatch() = default;
  /// The deadline has passed and was noticed while it was fresh: so the process ran. A scheduler that did not notice
  /// was blocked.
  [[nodiscard]] bool wasOnTime() const noexcept { return onTime_.load(); }

 protected:
  std::atomic<bool> onTime_{false};
};

/// One thread for the process, named `tenure-watchdog`, which runs no code of users and waits for nobody: not for a
/// scheduler, a lane, a log sink or a store. Started with the first term, ended a while after the last one; a forked
/// child has one of its own. A renewal costs it nothing: it looks at what is published when the old deadline comes
/// near. Null if the system gives no thread or timer: deadlines are then kept by the scheduler alone.
[[nodiscard]] std::shared_ptr<TermWatch> watchTerm(WatchedTerm term);

/// Why a term ended, where the machine only knows that it was not stepped.
[[nodiscard]] inline std::string whyRevoked(const action::Revoked& revoked, const TermWatch* watch) {
  if (!revoked.unstepped || watch == nullptr || !watch->wasOnTime()) return revoked.detail;
  return "the thread that renews the lease was blocked while the process ran: by a task on its loop, a log sink, an "
         "executor or a call of the store that did not return";
}

}  // namespace tenure
