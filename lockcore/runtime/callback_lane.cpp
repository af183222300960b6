#include "callback_lane.hpp"

#include <utility>

namespace tenure {

void CallbackLane::post(std::function<void()> task) {
  std::uint64_t turn = 0;
  {
    const std::lock_guard lock{mutex_};
    tasks_.push_back(std::move(task));
    if (std::exchange(active_, true)) return;
    turn = ++turn_;
  }
  executor_([self = shared_from_this(), turn] { self->drain(turn); });
}

void CallbackLane::drain(std::uint64_t turn) {
  std::unique_lock lock{mutex_};
  // If an executor throws after it took the task, the task comes twice; only the first one runs.
  if (!active_ || turn != turn_ || runner_ != std::thread::id{}) return;
  runner_ = std::this_thread::get_id();
  while (!tasks_.empty()) {
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it captured is destroyed outside the lock
    lock.lock();
  }
  runner_ = {};
  active_ = false;
  idle_.notify_all();
}

bool CallbackLane::isCurrent() const {
  const std::lock_guard lock{mutex_};
  return runner_ == std::this_thread::get_id();
}

bool CallbackLane::isWaiting() const {
  const std::lock_guard lock{mutex_};
  return active_ && runner_ == std::thread::id{};
}

bool CallbackLane::isIdle() const {
  const std::lock_guard lock{mutex_};
  return !active_;
}

bool CallbackLane::waitIdle(std::chrono::nanoseconds patience) {
  std::unique_lock lock{mutex_};
  return idle_.wait_for(lock, patience, [this] { return !active_; });
}

}  // namespace tenure
