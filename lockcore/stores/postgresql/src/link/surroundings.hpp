// What the parts of a link share. All of it belongs to the link's thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "lockcore/net/address_book.hpp"
#include "lockcore/net/alarm_queue.hpp"
#include "socket_wait.hpp"

namespace tenure::postgresql_store {

struct Surroundings {
  Scheduler& scheduler;
  net::AlarmQueue& alarms;
  net::AddressBook& book;
  const Logger& logger;
  std::function<std::unique_ptr<SocketWait>()> makeWait;

  [[nodiscard]] std::chrono::nanoseconds now() const noexcept { return alarms.now(); }
};

/// An alarm that calls a function.
class Bell final : private net::Alarm {
 public:
  Bell(net::AlarmQueue& alarms, std::function<void()> ring) : alarms_{alarms}, ring_{std::move(ring)} {}

  void setIn(std::chrono::nanoseconds delay) { alarms_.set(*this, alarms_.now() + delay); }
  void clear() noexcept { alarms_.clear(*this); }
  [[nodiscard]] bool isSet() const noexcept { return alarmIsSet(); }

 private:
  void onAlarm() override { ring_(); }

  net::AlarmQueue& alarms_;
  const std::function<void()> ring_;
};

}  // namespace tenure::postgresql_store
