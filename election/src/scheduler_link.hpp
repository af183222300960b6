// The way by which other threads reach a scheduler that may be gone.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/runtime/process_mark.hpp"

namespace tenure {

/// The scheduler may run on a loop of the user that is destroyed right after the elector. A store that answers late
/// must not hold the scheduler for even a moment, because it could then be the last owner.
class SchedulerLink {
 public:
  explicit SchedulerLink(std::shared_ptr<Scheduler> scheduler) : scheduler_{std::move(scheduler)} {}

  /// No effect once it is closed, and in a forked child. Any thread.
  void post(Scheduler::Task task) {
    if (!mark_.isHere()) return;
    const std::lock_guard lock{mutex_};
    if (scheduler_) scheduler_->post(std::move(task));  // post() runs nothing, so this is safe under the lock
  }

  [[nodiscard]] bool isCurrent() const {
    if (!mark_.isHere()) return false;
    const std::lock_guard lock{mutex_};
    return scheduler_ && scheduler_->isCurrent();
  }

  /// Only for the scheduler's own tasks; null once it is closed.
  [[nodiscard]] std::shared_ptr<Scheduler> scheduler() const {
    const std::lock_guard lock{mutex_};
    return scheduler_;
  }

  void close() {
    std::shared_ptr<Scheduler> last;  // destroyed after the lock is released
    const std::lock_guard lock{mutex_};
    last.swap(scheduler_);
  }

 private:
  const ProcessMark mark_{};
  mutable std::mutex mutex_;  ///< guards scheduler_
  std::shared_ptr<Scheduler> scheduler_;
};

}  // namespace tenure
