// What a shipped store needs around it in a simulated process.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/port/extended_store.hpp"
#include "simulation/sim_endpoint.hpp"

namespace tenure::test {

/// One process's view of time; it runs tasks when that process may run.
class LocalScheduler final : public Scheduler {
 public:
  LocalScheduler(SimSurroundings& world, std::size_t process, const SimLife& life)
      : world_{world}, process_{process}, life_{life}, clock_{std::make_shared<LocalClock>(world, life)} {}

  [[nodiscard]] std::shared_ptr<const Clock> clock() const override { return clock_; }
  [[nodiscard]] Instant now() const noexcept override { return clock_->now(); }
  void post(Task task) override { world_.runFor(process_, life_, std::chrono::nanoseconds{0}, std::move(task)); }
  TimerId schedule(std::chrono::nanoseconds delay, Task task) override {
    const TimerId id = ++last_;
    live_->insert(id);
    world_.runFor(process_, life_, delay, [id, live = live_, task = std::move(task)] {
      if (live->erase(id) > 0) task();
    });
    return id;
  }
  void cancel(TimerId id) noexcept override { live_->erase(id); }
  [[nodiscard]] bool isCurrent() const noexcept override { return true; }

 private:
  class LocalClock final : public Clock {
   public:
    LocalClock(const SimSurroundings& world, const SimLife& life) : world_{world}, life_{life} {}
    [[nodiscard]] Instant now() const noexcept override { return world_.localNow(life_); }

   private:
    const SimSurroundings& world_;
    const SimLife& life_;
  };

  SimSurroundings& world_;
  std::size_t process_;
  const SimLife& life_;
  std::shared_ptr<const Clock> clock_;
  TimerId last_{0};
  std::shared_ptr<std::set<TimerId>> live_ = std::make_shared<std::set<TimerId>>();
};

/// The answers that a store gives when it is destroyed reach nobody: its process is gone.
class StoreEndpoint final : public SimEndpoint {
 public:
  StoreEndpoint(LeaseKey key, std::shared_ptr<LeaseStore> store) : key_{std::move(key)}, store_{std::move(store)} {}
  void read(std::chrono::nanoseconds timeout, ReadHandler handler) override {
    store_->read(key_, {timeout, true}, whileAlive<ReadOutcome>(std::move(handler)));
  }
  void write(WriteRequest request, std::chrono::nanoseconds timeout, WriteHandler handler) override {
    store_->write(std::move(request), {timeout}, whileAlive<WriteOutcome>(std::move(handler)));
  }
  void watch(std::function<void(bool isLoss)> hint) override {
    watches_[0] = store_->watch(key_, [hint] { hint(false); });
    watches_[1] = extended(store_)->watchLoss([hint] { hint(true); });
  }

 private:
  template <class Outcome>
  [[nodiscard]] std::function<void(Outcome)> whileAlive(std::function<void(Outcome)> handler) const {
    return [alive = std::weak_ptr<const bool>{alive_}, handler = std::move(handler)](Outcome outcome) {
      if (!alive.expired()) handler(std::move(outcome));
    };
  }

  const LeaseKey key_;
  std::shared_ptr<LeaseStore> store_;
  std::array<std::shared_ptr<void>, 2> watches_{};
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);  // after the store, so it ends first
};

}  // namespace tenure::test
