#include "alarm_queue.hpp"

namespace tenure::net {

Alarm::~Alarm() {
  if (queue_ != nullptr) queue_->clear(*this);
}

void AlarmQueue::set(Alarm& alarm, std::chrono::nanoseconds due) {
  clear(alarm);
  alarms_.emplace(due, &alarm);
  alarm.queue_ = this;
  alarm.due_ = due;
  if (!timer_ || due < armedFor_) arm();
}

void AlarmQueue::clear(Alarm& alarm) noexcept {
  if (alarm.queue_ == nullptr) return;
  alarms_.erase({alarm.due_, &alarm});
  alarm.queue_ = nullptr;
}

void AlarmQueue::arm() {
  if (timer_) scheduler_->cancel(*timer_);
  armedFor_ = alarms_.begin()->first;
  timer_ = scheduler_->schedule(armedFor_ - now(), [this, weak = std::weak_ptr{alive_}] {
    if (!weak.expired()) fire();
  });
}

void AlarmQueue::fire() {
  timer_.reset();
  const auto at = now();
  while (!alarms_.empty() && alarms_.begin()->first <= at) {
    Alarm& alarm = *alarms_.begin()->second;
    clear(alarm);
    alarm.onAlarm();
  }
  if (!alarms_.empty() && (!timer_ || alarms_.begin()->first < armedFor_)) arm();
}

}  // namespace tenure::net
