// A runtime for tests: its time moves only when the test moves it, and callbacks run on the thread of the test.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure::test {

/// Deterministic: tasks run only inside runReady() and advance(), on the thread that calls them, posted tasks in
/// order of posting, timers by due time and then by id. now() and post() may be called from any thread; the rest
/// belongs to the test's thread.
///
/// It enforces the contract of Scheduler: schedule() and cancel() from outside a task throw std::logic_error (cancel
/// is noexcept, so the process ends there), and so does running tasks from inside a task.
class TENURE_API ManualScheduler final : public Scheduler {
 public:
  /// The clocks start at different values, so that code that confuses them is found.
  static constexpr Instant defaultStart{std::chrono::hours{1}, std::chrono::hours{2}, std::chrono::hours{3}};

  explicit ManualScheduler(Instant start = defaultStart);
  ~ManualScheduler() override;

  [[nodiscard]] std::shared_ptr<const Clock> clock() const override;
  [[nodiscard]] Instant now() const noexcept override;
  void post(Task task) override;
  TimerId schedule(std::chrono::nanoseconds delay, Task task) override;
  void cancel(TimerId id) noexcept override;
  [[nodiscard]] bool isCurrent() const noexcept override;

  /// Runs posted tasks and due timers until there are none, without moving time. Returns how many ran.
  std::size_t runReady();

  /// Runs what is ready, then moves all clocks by `by`. It stops at the due time of each timer, to run it and the tasks
  /// that it posts. A task sees exactly the instant for which it was scheduled. Returns how many tasks ran.
  std::size_t advance(std::chrono::nanoseconds by);

  /// Advances to the next timer and runs it; false (and time unmoved) if there is none.
  bool advanceToNextTimer();

  /// Moves each clock by its own amount and runs nothing: slewed clocks, a stopped process (all clocks continue, no
  /// task runs). Timers that became due run late, at the next runReady() or advance().
  void moveClocks(const Instant& by);

  /// The machine was suspended: only CLOCK_BOOTTIME continued, and nothing ran.
  void suspend(std::chrono::nanoseconds by) { moveClocks({.boottime = by}); }

  [[nodiscard]] std::size_t postedTasks() const;
  [[nodiscard]] std::size_t timers() const;
  /// Until the next timer is due; not positive if it is overdue; empty if there is none.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilNextTimer() const;

 private:
  using Due = std::pair<std::chrono::nanoseconds, TimerId>;  // on CLOCK_BOOTTIME: delays count suspend

  class ManualClock;
  class Running;
  [[nodiscard]] Task takeReady();
  std::size_t drainReady();
  void requireTask(const char* call) const;

  const std::shared_ptr<ManualClock> clock_;
  mutable std::mutex mutex_;  // guards all below; never held while a task runs
  std::deque<Task> posted_;
  std::map<Due, Task> timers_;
  TimerId lastTimer_{0};
  std::thread::id runner_;  // default value: no task is running
};

/// For Runtime::executor: `[executor](auto task) { executor->post(std::move(task)); }`. post() may be called from any
/// thread.
class TENURE_API ManualExecutor {
 public:
  void post(std::function<void()> task);
  /// Runs all callbacks on this thread, including those that they post; returns how many.
  int run();
  [[nodiscard]] std::size_t waiting() const;

 private:
  mutable std::mutex mutex_;
  std::deque<std::function<void()>> tasks_{};
};

/// For electors and lock clients in tests: no thread, no sleep, the same run each time. Give each of them a runtime(),
/// and makeMemoryStore(clock) as the store. Nothing of them happens outside the calls below. All calls belong to the
/// thread of the test.
class TENURE_API ManualRuntime {
 public:
  [[nodiscard]] Runtime runtime();

  /// Runs everything that is ready, on the scheduler and on the executor, without moving time.
  void settle();
  /// Moves time, timer by timer, and settles after each.
  void advance(std::chrono::nanoseconds by);
  /// Moves time in steps of a millisecond until `done`; false if it was not done within `limit`.
  [[nodiscard]] bool advanceUntil(const std::function<bool()>& done,
                                  std::chrono::nanoseconds limit = std::chrono::seconds{30});
  /// All clocks continue and nothing of the library runs, as after SIGSTOP.
  void pause(std::chrono::nanoseconds by) { clock->moveClocks({by, by, by}); }

  /// For calls that wait for the scheduler or for callbacks, such as stop() and destructors: runs `blocking` on another
  /// thread, and all other tasks on this one until it returns. In each round time moves by `perRound`.
  template <class Result>
  Result drive(std::function<Result()> blocking, std::chrono::nanoseconds perRound = {}) {
    std::future<Result> result = std::async(std::launch::async, std::move(blocking));
    while (result.wait_for(std::chrono::milliseconds{1}) != std::future_status::ready) advance(perRound);
    return result.get();
  }

  const std::shared_ptr<ManualScheduler> clock{std::make_shared<ManualScheduler>()};
  const std::shared_ptr<ManualExecutor> executor{std::make_shared<ManualExecutor>()};

 private:
  std::uint64_t seed_{0};
};

}  // namespace tenure::test
