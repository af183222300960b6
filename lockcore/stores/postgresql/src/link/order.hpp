// A job on its way through the link.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "lockcore/net/alarm_queue.hpp"
#include "lockcore/stores/postgresql/src/database.hpp"

namespace tenure::postgresql_store {

struct Order;

/// Told when an order is out of time.
class OrderKeeper {
 public:
  virtual void outOfTime(Order& order) = 0;

 protected:
  ~OrderKeeper() = default;
};

struct Order final : net::Alarm {
  Order(Job given, JobHandler forAnswer, std::chrono::nanoseconds limit, std::chrono::nanoseconds dueAt)
      : job{std::move(given)}, handler{std::move(forAnswer)}, timeout{limit}, due{dueAt} {}

  void onAlarm() override { keeper->outOfTime(*this); }

  Job job;
  JobHandler handler;
  std::chrono::nanoseconds timeout;
  std::chrono::nanoseconds due;
  OrderKeeper* keeper{nullptr};
};

/// The order's end. The handler may destroy the link.
inline void answer(std::unique_ptr<Order> order, JobReply reply) {
  const JobHandler handler = std::move(order->handler);
  order.reset();
  handler(std::move(reply));
}

}  // namespace tenure::postgresql_store
