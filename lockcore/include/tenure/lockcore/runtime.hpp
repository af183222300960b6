// The parts that the library's work runs on: a clock, a scheduler, an executor for callbacks, randomness. A user may
// supply every part; tests and the simulation do.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/export.hpp>

namespace tenure {

/// Gives the time. Separate from the scheduler, because the holder of a term may ask for the time after the scheduler
/// and the loop below it are gone.
class TENURE_API Clock {
 public:
  virtual ~Clock() = default;
  /// Any thread.
  [[nodiscard]] virtual Instant now() const noexcept = 0;
};

/// readClock(), for as long as the process lives.
[[nodiscard]] TENURE_API std::shared_ptr<const Clock> systemClock();

/// When a call of a store has to be answered. Time is counted as a holder counts it, so a call that spent its time
/// suspended is over when the machine wakes.
class TENURE_API CallDeadline {
 public:
  CallDeadline(std::shared_ptr<const Clock> clock, std::chrono::nanoseconds timeout)
      : clock_{std::move(clock)},
        start_{clock_->now()},
        timeout_{timeout < timeout.zero() ? timeout.zero() : timeout} {}

  [[nodiscard]] std::chrono::nanoseconds left() const noexcept {
    return timeout_ - elapsedForHolder(start_, clock_->now());
  }
  [[nodiscard]] bool passed() const noexcept { return left().count() <= 0; }
  [[nodiscard]] std::chrono::nanoseconds timeout() const noexcept { return timeout_; }

 private:
  std::shared_ptr<const Clock> clock_;
  Instant start_;
  std::chrono::nanoseconds timeout_;
};

/// Tasks of one scheduler never run at the same time and never inside the call of post(). User code never
/// runs on it. Tasks must not block and must not throw. The library may post for as long as it has the scheduler; if
/// the loop below ends before, the scheduler drops the tasks that it has and those that it gets.
class TENURE_API Scheduler {
 public:
  using Task = std::function<void()>;
  using TimerId = std::uint64_t;

  virtual ~Scheduler() = default;

  /// The clock by which delays are counted. Any thread; it may outlive the scheduler. If it is systemClock(), a
  /// thread of the library also watches the deadlines of terms, in case the scheduler is blocked.
  [[nodiscard]] virtual std::shared_ptr<const Clock> clock() const = 0;
  /// clock()->now(). Any thread.
  [[nodiscard]] virtual Instant now() const noexcept = 0;

  /// Runs `task` later, in order of posting. Any thread.
  virtual void post(Task task) = 0;

  /// Runs `task` once after `delay` (at once if <= 0), unless it is cancelled. It may run late, so tasks read the
  /// clock. The delay counts suspend. Only from a task of this scheduler.
  virtual TimerId schedule(std::chrono::nanoseconds delay, Task task) = 0;

  /// No effect if the task ran or was cancelled. Only from a task of this scheduler.
  virtual void cancel(TimerId id) noexcept = 0;

  /// True on a thread that runs this scheduler's tasks, whatever it runs now. Code that waits for a task there may
  /// wait for itself.
  [[nodiscard]] virtual bool isCurrent() const noexcept = 0;
};

/// The process's renewal thread: one thread named `tenure-renewal` for any number of leases, started by the first
/// caller and ended when the last reference is gone.
[[nodiscard]] TENURE_API std::shared_ptr<Scheduler> sharedScheduler();

/// Runs a task later on some thread, in no particular order: a thread pool, an io_context. It must not run the task
/// inside the call, must not block (it is called on the renewal thread) and must run every task in the end. If it
/// throws, the error is logged and the task runs on a thread of the library itself.
using Executor = std::function<void(std::function<void()>)>;

/// A stream of 64 random bits at a time. Implementations do not have to be thread-safe; each user has its own.
class TENURE_API RandomSource {
 public:
  virtual ~RandomSource() = default;
  virtual std::uint64_t next() = 0;
};

/// The runtime of electors and lock clients. The defaults suit a program without special needs. Electors and clients
/// share what they are given. With the defaults, or with one scheduler and one executor, any number of leases costs one
/// renewal thread and as many callback threads as there are callbacks that block; the callbacks of each lease come in
/// order. Give them one store object too.
struct Runtime {
  /// Renewal and all other library work. Null: one thread per process, which all share (sharedScheduler()).
  std::shared_ptr<Scheduler> scheduler{};
  /// Runs callbacks. Empty: threads of the library itself. If your executor has a single thread, onElected must not
  /// block, and calls that wait for callbacks (stop(), the destructor) must not be made there outside of callbacks.
  Executor executor{};
  /// Randomness for jitter, record versions and the incarnation. Null: the operating system's.
  std::unique_ptr<RandomSource> random{};
};

}  // namespace tenure
