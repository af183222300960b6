// Lock clients on a manual scheduler and a store with faults. Blocking calls are made in their asynchronous form, or on
// another thread than the one that moves the clock.
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <tenure/lockcore/lock_client.hpp>

#include "lockcore/machine_harness.hpp"
#include "lockcore/store_world.hpp"
#include "support/seeded_random.hpp"

namespace tenure::test {

/// lease 10 s, heartbeat 3 s, guard 11 ms, stop margin 1 s: held for 8.989 s without a renewal.
[[nodiscard]] inline LeaseOptions lockLease() {
  LeaseOptions lease;
  lease.duration = std::chrono::seconds{10};
  lease.heartbeat = std::chrono::seconds{3};
  lease.stopMargin = std::chrono::seconds{1};
  return lease;
}

/// The test's thread also runs the tasks, so calls that would block on it do not.
class TestersLoop final : public Scheduler {
 public:
  explicit TestersLoop(std::shared_ptr<ManualScheduler> inner) : inner_{std::move(inner)} {}
  [[nodiscard]] std::shared_ptr<const Clock> clock() const override { return inner_->clock(); }
  [[nodiscard]] Instant now() const noexcept override { return inner_->now(); }
  void post(Task task) override { inner_->post(std::move(task)); }
  TimerId schedule(std::chrono::nanoseconds delay, Task task) override {
    return inner_->schedule(delay, std::move(task));
  }
  void cancel(TimerId id) noexcept override { inner_->cancel(id); }
  [[nodiscard]] bool isCurrent() const noexcept override { return std::this_thread::get_id() == tester_; }

 private:
  const std::shared_ptr<ManualScheduler> inner_;
  const std::thread::id tester_{std::this_thread::get_id()};
};

class LockWorld : public StoreWorld {
 public:
  [[nodiscard]] std::unique_ptr<LockClient> makeClient(const std::string& name = "a",
                                                       LeaseOptions lease = lockLease()) {
    LockClientOptions options;
    options.candidate = name;
    options.lease = lease;
    options.logger = Logger{LogLevel::trace, [this](LogLevel level, std::string_view line) {
                              lines.push_back(std::string{toString(level)} + ' ' + std::string{line});
                            }};
    Runtime runtime;
    runtime.scheduler = loop;
    runtime.executor = [this](std::function<void()> task) { callbacks->post(std::move(task)); };
    runtime.random = std::make_unique<SeededRandom>(++seed_);
    return std::make_unique<LockClient>(store, std::move(options), std::move(runtime));
  }

  /// Runs everything that is ready, including callbacks, without moving time.
  void settle() {
    while (scheduler->runReady() + callbacks->runReady() > 0) {
    }
  }
  void pass(std::chrono::nanoseconds by) {
    const std::chrono::nanoseconds step = std::chrono::milliseconds{10};
    settle();
    for (std::chrono::nanoseconds done{0}; done < by; done += step) {
      scheduler->advance(std::min(step, by - done));
      settle();
    }
  }

  /// The result of an acquisition: empty until it is decided.
  using Outcome = std::shared_ptr<std::optional<LockResult<Lock>>>;
  [[nodiscard]] Outcome begin(LockClient& client, const std::string& key, AcquireOptions options = {}) {
    auto outcome = std::make_shared<std::optional<LockResult<Lock>>>();
    pending = std::stop_source{};
    client.acquireAsync(
        {key}, std::move(options), [outcome](LockResult<Lock> result) { outcome->emplace(std::move(result)); },
        pending.get_token());
    settle();
    return outcome;
  }
  /// An acquisition that is decided without passing time.
  [[nodiscard]] LockResult<Lock> tryNow(LockClient& client, const std::string& key, AcquireOptions options = {}) {
    options.waitFor = std::chrono::milliseconds{0};
    const Outcome outcome = begin(client, key, std::move(options));
    pass(std::chrono::milliseconds{20});  // the delay before competing
    if (!*outcome) throw std::logic_error{"the acquisition was not decided"};
    return std::move(**outcome);
  }
  [[nodiscard]] Lock acquireNow(LockClient& client, const std::string& key, AcquireOptions options = {}) {
    return tryNow(client, key, std::move(options)).value();
  }

  /// The result of a blocking call, while time passes in small steps.
  template <class Call>
  auto blocking(Call call, std::chrono::nanoseconds most = std::chrono::seconds{30}) {
    auto answer = std::async(std::launch::async, std::move(call));
    // Real time: the blocking call must have reached the place where it waits. Bounded by `most` of the manual clock.
    for (std::chrono::nanoseconds passed{0}; passed < most; passed += std::chrono::milliseconds{10}) {
      settle();
      if (answer.wait_for(std::chrono::milliseconds{2}) == std::future_status::ready) break;
      scheduler->advance(std::chrono::milliseconds{10});
    }
    settle();
    return answer.get();
  }
  ReleaseResult release(Lock& lock, ReleaseOptions options = {}) {
    options.waitFor = std::chrono::milliseconds{0};
    (void)lock.release(options);
    settle();
    return lock.release();
  }
  [[nodiscard]] std::optional<LeaseRecord> stored(const std::string& key) { return StoreWorld::stored({key}); }

  std::shared_ptr<Scheduler> loop{std::make_shared<TestersLoop>(scheduler)};
  std::shared_ptr<ManualScheduler> callbacks{std::make_shared<ManualScheduler>()};
  std::vector<std::string> lines;
  std::stop_source pending{};  ///< of the last acquisition

 private:
  std::uint64_t seed_{100};
};

}  // namespace tenure::test
