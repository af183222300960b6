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
#include "lockcore/stores/postgresql/src/database.hpp"

namespace tenure::postgresql_store {

/// Waits for a socket that belongs to libpq. link.cpp alone knows Asio.
class SocketWait {
 public:
  using Ready = std::function<void()>;

  virtual ~SocketWait() = default;

  /// From now on the waits are for this socket. libpq may use another one after each step of connecting.
  virtual void take(int fd) = 0;
  /// Must come before libpq closes the socket. Waits that are under way end without a call.
  virtual void release() noexcept = 0;

  /// Calls `ready` once, on the loop, never inside this call. One wait of each kind at a time.
  virtual void untilReadable(Ready ready) = 0;
  virtual void untilWritable(Ready ready) = 0;
};

struct Surroundings {
  Scheduler& scheduler;
  net::AlarmQueue& alarms;
  net::AddressBook& book;
  const Logger& logger;
  std::function<std::unique_ptr<SocketWait>()> makeWait;

  [[nodiscard]] std::chrono::nanoseconds now() const noexcept { return alarms.now(); }
};

/// An alarm that calls a function.
class Timer final : private net::Alarm {
 public:
  Timer(net::AlarmQueue& alarms, std::function<void()> ring) : alarms_{alarms}, ring_{std::move(ring)} {}

  void setIn(std::chrono::nanoseconds delay) { alarms_.set(*this, alarms_.now() + delay); }
  void clear() noexcept { alarms_.clear(*this); }
  [[nodiscard]] bool isSet() const noexcept { return alarmIsSet(); }

 private:
  void onAlarm() override { ring_(); }

  net::AlarmQueue& alarms_;
  const std::function<void()> ring_;
};

struct QueuedJob;

/// Called when a queued job is out of time.
class QueuedJobOwner {
 public:
  virtual void outOfTime(QueuedJob& queued) = 0;

 protected:
  ~QueuedJobOwner() = default;
};

/// A job on its way through the link.
struct QueuedJob final : net::Alarm {
  QueuedJob(Job given, JobHandler forAnswer, std::chrono::nanoseconds limit, std::chrono::nanoseconds dueAt)
      : job{std::move(given)}, handler{std::move(forAnswer)}, timeout{limit}, due{dueAt} {}

  void onAlarm() override { keeper->outOfTime(*this); }

  Job job;
  JobHandler handler;
  std::chrono::nanoseconds timeout;
  std::chrono::nanoseconds due;
  QueuedJobOwner* keeper{nullptr};
};

/// The end of a queued job. The handler may destroy the link.
inline void answer(std::unique_ptr<QueuedJob> queued, JobReply reply) {
  const JobHandler handler = std::move(queued->handler);
  queued.reset();
  handler(std::move(reply));
}

}  // namespace tenure::postgresql_store
