// The inside of LeaseDriver: what happens on the scheduler, and how other threads get there.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "lease_driver.hpp"
#include "lockcore/runtime/clock_gauge.hpp"
#include "lockcore/runtime/process_mark.hpp"

namespace tenure {

/// The first error of its kind, and then one in a minute. A candidate that cannot be elected must say why, but one that
/// competes for a thousand leases through an outage must not fill the disk. (A leader's errors are reported as doubts.)
class ErrorLog {
 public:
  [[nodiscard]] bool isNews(const Instant& now, const StoreError& error) {
    constexpr std::chrono::minutes pause{1};
    const std::string kind = kindOf(error);
    if (last_ && last_->kind == kind && elapsedForHolder(last_->at, now) < pause) return false;
    last_ = Logged{kind, now};
    return true;
  }

  /// All is well: the next error is news again.
  void forget() noexcept { last_.reset(); }

 private:
  /// The message without its numbers, which change from one error to the next (times, ports, process ids).
  [[nodiscard]] static std::string kindOf(const StoreError& error) {
    std::string kind{toString(error.errorClass)};
    std::copy_if(error.message.begin(), error.message.end(), std::back_inserter(kind),
                 [](char c) { return c < '0' || c > '9'; });
    return kind;
  }

  struct Logged {
    std::string kind;
    Instant at;
  };
  std::optional<Logged> last_{};
};

/// The only way by which other threads reach the driver and its scheduler. The scheduler may run on a loop of the user
/// that is destroyed right after the elector. So a store that answers late must not hold the driver for even a moment,
/// because it could then be the last owner of both.
class LeaseDriver::Link {
 public:
  void open(std::shared_ptr<Impl> impl);
  /// What `call` answers, or an empty answer if the driver is closed. `call` runs nothing of users and no task.
  template <class Call>
  auto ask(const Call& call) const;
  /// Has the scheduler run `task` with the driver, unless that is closed before. False: it is closed already.
  template <class Task>
  bool post(Task task) const;
  /// Times of CLOCK_BOOTTIME: one number, so that no report waits for a lock. The latest counts.
  void reportProgress(std::chrono::nanoseconds at) noexcept {
    std::int64_t last = progressedAt_.load(std::memory_order_relaxed);
    while (last < at.count() && !progressedAt_.compare_exchange_weak(last, at.count(), std::memory_order_relaxed)) {
    }
  }
  [[nodiscard]] std::optional<std::chrono::nanoseconds> takeProgress() noexcept {
    if (progressedAt_.load(std::memory_order_relaxed) == noProgress) return std::nullopt;
    return std::chrono::nanoseconds{progressedAt_.exchange(noProgress, std::memory_order_relaxed)};
  }
  [[nodiscard]] std::optional<LeaseStatus> tryStatus() const;
  void close() noexcept;
  [[nodiscard]] bool isClosed() const noexcept { return closed_.load(); }

 private:
  std::atomic<bool> closed_{false};
  static constexpr std::int64_t noProgress = INT64_MIN;
  std::atomic<std::int64_t> progressedAt_{noProgress};
  const ProcessMark mark_{};
  mutable std::mutex mutex_;      ///< guards impl_
  std::shared_ptr<Impl> impl_{};  ///< none: closed
};

class LeaseDriver::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(Options options, std::shared_ptr<LeaseStore> store, std::shared_ptr<Scheduler> scheduler,
       std::unique_ptr<RandomSource> random, std::shared_ptr<Link> link)
      : link_{std::move(link)},
        logger_{std::move(options.logger)},
        onNotice_{std::move(options.onNotice)},
        checksSchema_{options.checksSchema},
        store_{std::move(store)},
        scheduler_{std::move(scheduler)},
        random_{std::move(random)},
        machine_{std::move(options.machine), *random_} {}

  template <class Task>
  void post(Task task) {
    scheduler_->post([weak = weak_from_this(), task = std::move(task)] {
      if (const auto self = weak.lock()) task(*self);
    });
  }
  [[nodiscard]] bool withdraw();
  [[nodiscard]] const std::shared_ptr<const TermCell>& term() const noexcept { return readTerm_; }
  [[nodiscard]] LeaseStatus status() const {
    const Instant now = scheduler_->now();
    const std::lock_guard lock{mutex_};
    return statusAt(now);
  }
  [[nodiscard]] std::optional<LeaseStatus> tryStatus() const {
    const Instant now = scheduler_->now();
    const std::unique_lock lock{mutex_, std::try_to_lock};
    return lock ? std::optional{statusAt(now)} : std::nullopt;
  }
  [[nodiscard]] bool isOnScheduler() const { return scheduler_->isCurrent(); }

  // On the scheduler.
  void pump(const LeaseEvent& event);
  void endLedTerm(FencingToken token);
  void takeSchema(const StoreStatus& status);
  void countIn(std::shared_ptr<LeaseAccount> account) { account_ = std::move(account); }
  void reportEffective(FencingToken token) {
    if (account_ && machine_.term().token == token) account_->effective(machine_.term(), scheduler_->now());
  }
  void schedule(std::chrono::nanoseconds delay, const Scheduler::Task& task) {
    if (delay <= delay.zero()) return task();
    scheduler_->schedule(delay, task);
  }
  void keep(std::shared_ptr<void> owner, std::chrono::nanoseconds atMost) {
    if (machine_.state() == LeaseState::stopped) return;
    const auto kept = std::make_shared<std::shared_ptr<void>>(std::move(owner));
    kept_ = kept;
    keeper_ = scheduler_->schedule(atMost, [kept] {});
  }

 private:
  void ensureSchema();
  void take(LeaseActions actions);
  void perform(const action::SendRead& send);
  void perform(action::SendWrite&& send);
  void perform(const action::Publish& publish) {
    term_->publish(publish.term);
    if (account_) account_->published(publish.term, scheduler_->now());
    if (onNotice_) onNotice_(publish);
  }
  void perform(const action::FollowHolder& follow);
  [[nodiscard]] std::shared_ptr<void> orNull(const char* what, const std::function<std::shared_ptr<void>()>& make);
  void perform(const action::Log& line) { logger_.log(line.level, toString(machine_.key()) + ": " + line.line); }
  template <class Notice>
  void perform(const Notice& notice) {
    if (account_) count(notice);
    if (onNotice_) onNotice_(notice);
    if constexpr (std::is_same_v<Notice, action::Stopped>) letOwnerGo();
  }
  void letOwnerGo() {
    if (schemaTimer_) scheduler_->cancel(*schemaTimer_);  // it would keep the user's loop running
    const auto kept = kept_.lock();
    if (!kept) return;
    const std::shared_ptr<void> owner =
        std::exchange(*kept, nullptr);  // goes last, and not inside the scheduler's call
    scheduler_->cancel(keeper_);
  }
  template <class Notice>
  void count(const Notice& notice) {
    if constexpr (requires { account_->told(notice); }) account_->told(notice);
    if constexpr (requires { account_->told(notice, Instant{}); }) account_->told(notice, scheduler_->now());
  }
  void count(const action::InDoubt& doubt) { account_->told(doubt, machine_.term().token); }
  void rearm(const Instant& now);
  void keepWatch();
  /// Under the lock.
  [[nodiscard]] LeaseStatus statusAt(const Instant& now) const;
  [[nodiscard]] LeaseActions step(const Instant& now, const LeaseEvent& event);
  void reportError();
  [[nodiscard]] bool awaitsTables() const;
  void gaugeClocks(const Instant& now);

  /// Watchers of a record report from any thread; this posts their news to the scheduler.
  template <class Event>
  [[nodiscard]] std::function<void()> teller(Event event) {
    return [link = link_, event = std::move(event)] { link->post([event](Impl& impl) { impl.pump(event); }); };
  }

  // Constant after construction.
  const std::shared_ptr<Link> link_;
  const Logger logger_;
  const std::function<void(const LeaseNotice&)> onNotice_;
  const bool checksSchema_;
  const std::shared_ptr<LeaseStore> store_;
  const std::shared_ptr<Scheduler> scheduler_;
  const std::unique_ptr<RandomSource> random_;
  const std::shared_ptr<TermCell> term_{std::make_shared<TermCell>()};
  const std::shared_ptr<const TermCell> readTerm_{term_};

  // Used on the scheduler only.
  std::shared_ptr<LeaseAccount> account_{};  ///< null: nobody wants to know
  std::optional<Scheduler::TimerId> timer_{};
  std::optional<Scheduler::TimerId> schemaTimer_{};  ///< of the last check that was to be repeated
  Scheduler::TimerId keeper_{0};                     ///< the timer that owns what kept_ shows; see LeaseDriver::keep()
  std::weak_ptr<std::shared_ptr<void>> kept_{};
  std::shared_ptr<void> watch_{};
  bool lossAsked_{false};  ///< asked once in each term
  std::shared_ptr<void> lossWatch_{};
  bool watchAsked_{false};  ///< asked once in each candidacy, whether or not there was a watch
  std::shared_ptr<void> follow_{};
  ErrorLog errors_{};
  std::chrono::nanoseconds lastErrorSeen_{-1};  ///< time of that error, by the clock that counts suspend
  std::chrono::seconds schemaPause_{2};         ///< until the next check after an error that passes by itself

  // Changed on the scheduler under the lock, so tasks of the scheduler read it without the lock.
  mutable std::mutex mutex_;  ///< held for one step of the machine, or for a copy of what it shows
  LeaseMachine machine_;
  bool withdrawn_{false};                ///< the machine does not know it yet
  std::optional<StoreStatus> schema_{};  ///< the last answer
  Instant schemaAt_{};                   ///< its time
  ClockGauge gauge_{};
};

/// In a forked child a thread that does not exist there may hold the lock, and the driver is the parent's.
template <class Call>
auto LeaseDriver::Link::ask(const Call& call) const {
  using Answer = decltype(call(*impl_));
  if (!mark_.isHere()) return Answer();
  const std::lock_guard lock{mutex_};
  return impl_ ? call(*impl_) : Answer();
}

template <class Task>
bool LeaseDriver::Link::post(Task task) const {
  return ask([&](Impl& impl) {
    impl.post(std::move(task));
    return true;
  });
}

}  // namespace tenure
