// Internal: many deadlines, one timer.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure::net {

class AlarmQueue;

/// Something that happens at one moment, once. It clears itself when it is destroyed, which must happen before the
/// queue's destruction.
class TENURE_API Alarm {
 public:
  virtual ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

 protected:
  Alarm() = default;
  /// Called once, when the moment has come. The alarm is not set any more then, and may be set again.
  virtual void onAlarm() = 0;

  [[nodiscard]] bool alarmIsSet() const noexcept { return queue_ != nullptr; }

 private:
  friend class AlarmQueue;
  AlarmQueue* queue_{nullptr};
  std::chrono::nanoseconds due_{0};
};

/// Belongs to the scheduler's thread. The timer is armed for the first deadline. It stays armed when that deadline is
/// cleared or a later one is set, so calls that end in time cost no system call. A wake-up that finds nothing due arms
/// the timer again.
class TENURE_API AlarmQueue {
 public:
  explicit AlarmQueue(std::shared_ptr<Scheduler> scheduler) : scheduler_{std::move(scheduler)} {}
  ~AlarmQueue() = default;
  AlarmQueue(const AlarmQueue&) = delete;
  AlarmQueue& operator=(const AlarmQueue&) = delete;

  /// On the clock that `set` takes; it counts the time for which the machine is suspended.
  [[nodiscard]] std::chrono::nanoseconds now() const noexcept { return scheduler_->now().boottime; }

  /// Sets the alarm, or moves it. If the moment has passed, the alarm comes at the next turn of the loop.
  void set(Alarm& alarm, std::chrono::nanoseconds due);
  void clear(Alarm& alarm) noexcept;

 private:
  void arm();
  void fire();

  std::shared_ptr<Scheduler> scheduler_;
  std::set<std::pair<std::chrono::nanoseconds, Alarm*>> alarms_{};
  std::optional<Scheduler::TimerId> timer_{};
  std::chrono::nanoseconds armedFor_{0};
  /// Only tasks of the scheduler may cancel the timer, so it may fire after the queue is gone.
  std::shared_ptr<bool> alive_{std::make_shared<bool>(true)};
};

}  // namespace tenure::net
