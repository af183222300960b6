// The inside of LeaseDriver. lease_driver.cpp: what happens on the scheduler. lease_driver_link.cpp: how other threads
// get there.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
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
  void submit(LeaseEvent event);
  bool schedule(std::chrono::nanoseconds delay, Scheduler::Task task);
  void keep(std::shared_ptr<void> owner, std::chrono::nanoseconds atMost);
  [[nodiscard]] bool withdraw();
  void endTerm(FencingToken token);
  void schemaAnswered(StoreStatus status);
  void reportProgress() noexcept { progressed_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool takeProgress() noexcept { return progressed_.exchange(false, std::memory_order_relaxed); }
  [[nodiscard]] LeaseStatus status() const;
  [[nodiscard]] std::optional<LeaseStatus> tryStatus() const;
  void countIn(std::shared_ptr<LeaseAccount> account);
  [[nodiscard]] bool isOnScheduler() const;
  void close() noexcept;

 private:
  template <class Call>
  auto ask(const Call& call) const;

  std::atomic<bool> progressed_{false};
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

  void submit(LeaseEvent event) {
    scheduler_->post([weak = weak_from_this(), event = std::move(event)] {
      if (const auto self = weak.lock()) self->pump(event);
    });
  }
  bool schedule(std::chrono::nanoseconds delay, Scheduler::Task task) {
    scheduler_->post([weak = weak_from_this(), delay, task = std::move(task)] {
      const auto self = weak.lock();
      if (!self) return;
      if (delay <= delay.zero()) return task();
      self->scheduler_->schedule(delay, task);
    });
    return true;
  }
  void keep(std::shared_ptr<void> owner, std::chrono::nanoseconds atMost) {
    scheduler_->post([weak = weak_from_this(), owner = std::move(owner), atMost] {
      const auto self = weak.lock();
      if (!self || self->machine_.state() == LeaseState::stopped) return;
      const auto kept = std::make_shared<std::shared_ptr<void>>(owner);
      self->kept_ = kept;
      self->keeper_ = self->scheduler_->schedule(atMost, [kept] {});
    });
  }
  [[nodiscard]] bool withdraw();
  void endTerm(FencingToken token) {
    scheduler_->post([weak = weak_from_this(), token] {
      if (const auto self = weak.lock()) self->endLedTerm(token);
    });
  }

  void close() noexcept { closed_.store(true); }
  [[nodiscard]] const std::shared_ptr<const TermCell>& term() const noexcept { return readTerm_; }
  void schemaAnswered(StoreStatus status) {
    scheduler_->post([weak = weak_from_this(), status = std::move(status)] {
      if (const auto self = weak.lock()) self->takeSchema(status);
    });
  }
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
  void countIn(std::shared_ptr<LeaseAccount> account) {
    scheduler_->post([weak = weak_from_this(), account = std::move(account)] {
      if (const auto self = weak.lock()) self->account_ = account;
    });
  }
  [[nodiscard]] bool isOnScheduler() const { return scheduler_->isCurrent(); }

 private:
  void ensureSchema();
  void takeSchema(const StoreStatus& status);
  void pump(const LeaseEvent& event);
  void endLedTerm(FencingToken token);
  void take(LeaseActions actions);
  void perform(const action::SendRead& send);
  void perform(action::SendWrite&& send);
  void perform(const action::Publish& publish) { term_->publish(publish.term); }
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
    return [link = link_, event = std::move(event)] { link->submit(event); };
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
  Scheduler::TimerId keeper_{0};  ///< the timer that owns what kept_ shows; see LeaseDriver::keep()
  std::weak_ptr<std::shared_ptr<void>> kept_{};
  std::shared_ptr<void> watch_{};
  bool lossAsked_{false};  ///< asked once in each term
  std::shared_ptr<void> lossWatch_{};
  bool watchAsked_{false};  ///< asked once in each candidacy, whether or not there was a watch
  std::shared_ptr<void> follow_{};
  ErrorLog errors_{};
  std::chrono::nanoseconds lastErrorSeen_{-1};  ///< time of that error, by the clock that counts suspend
  std::chrono::seconds schemaPause_{2};         ///< until the next check after an error that passes by itself

  std::atomic<bool> closed_{false};

  // Changed on the scheduler under the lock, so tasks of the scheduler read it without the lock.
  mutable std::mutex mutex_;  ///< held for one step of the machine, or for a copy of what it shows
  LeaseMachine machine_;
  bool withdrawn_{false};                ///< the machine does not know it yet
  std::optional<StoreStatus> schema_{};  ///< the last answer
  Instant schemaAt_{};                   ///< its time
  ClockGauge gauge_{};
};

}  // namespace tenure
