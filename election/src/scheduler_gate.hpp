// The way of other threads to a scheduler that may be gone.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/runtime/process_mark.hpp"

namespace tenure {

/// The scheduler may stand on a loop of the user's, which is destroyed right after the elector: a store that answers
/// late must not hold it for even a moment, or it would be the last to let go of it.
class SchedulerGate {
 public:
  explicit SchedulerGate(std::shared_ptr<Scheduler> scheduler) : scheduler_{std::move(scheduler)} {}

  /// No effect once closed, and in a forked child. Any thread.
  void post(Scheduler::Task task) {
    if (!mark_.isHere()) return;
    const std::lock_guard lock{mutex_};
    if (scheduler_) scheduler_->post(std::move(task));  // runs nothing under the lock
  }

  [[nodiscard]] bool isCurrent() const {
    if (!mark_.isHere()) return false;
    const std::lock_guard lock{mutex_};
    return scheduler_ && scheduler_->isCurrent();
  }

  /// For the scheduler's own tasks only; null once closed.
  [[nodiscard]] std::shared_ptr<Scheduler> scheduler() const {
    const std::lock_guard lock{mutex_};
    return scheduler_;
  }

  void close() {
    std::shared_ptr<Scheduler> last;  // let go after the lock
    const std::lock_guard lock{mutex_};
    last.swap(scheduler_);
  }

 private:
  const ProcessMark mark_{};
  mutable std::mutex mutex_;  ///< guards scheduler_
  std::shared_ptr<Scheduler> scheduler_;
};

}  // namespace tenure
