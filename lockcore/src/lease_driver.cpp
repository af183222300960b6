#include <atomic>
#include <exception>
#include <mutex>
#include <utility>

#include <tenure/lockcore/death_notice.hpp>
#include <tenure/lockcore/lease_driver.hpp>
#include <tenure/lockcore/process_mark.hpp>

#include "trouble_log.hpp"

namespace tenure {

using std::chrono::nanoseconds;

/// The only way from other threads to the driver and its scheduler. The scheduler may stand on a loop of the user's,
/// which is destroyed right after the elector: so a store that answers late must not hold the driver for even a moment,
/// or it would be the last to let go of both.
class LeaseDriver::Gate {
 public:
  void open(std::shared_ptr<Impl> impl);
  void submit(LeaseEvent event);
  void schemaAnswered(StoreStatus status);
  void reportProgress() noexcept { progressed_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool takeProgress() noexcept { return progressed_.exchange(false, std::memory_order_relaxed); }
  [[nodiscard]] LeaseStatus status() const;
  [[nodiscard]] bool isOnScheduler() const;
  void close() noexcept;

 private:
  std::atomic<bool> progressed_{false};
  const ProcessMark mark_{};
  mutable std::mutex mutex_;      ///< guards impl_
  std::shared_ptr<Impl> impl_{};  ///< none: closed
};

class LeaseDriver::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(Options options, std::shared_ptr<LeaseStore> store, std::shared_ptr<Scheduler> scheduler,
       std::unique_ptr<RandomSource> random, std::shared_ptr<Gate> gate)
      : gate_{std::move(gate)},
        key_{options.machine.key},
        logger_{std::move(options.logger)},
        onNotice_{std::move(options.onNotice)},
        store_{std::move(store)},
        scheduler_{std::move(scheduler)},
        random_{std::move(random)},
        machine_{std::move(options.machine), *random_} {}

  void submit(LeaseEvent event) {
    scheduler_->post([weak = weak_from_this(), event = std::move(event)] {
      if (const auto self = weak.lock()) self->pump(event);
    });
  }

  void close() noexcept { closed_.store(true); }
  [[nodiscard]] const std::shared_ptr<const TermCell>& term() const noexcept { return readTerm_; }
  void schemaAnswered(StoreStatus status) {
    scheduler_->post([weak = weak_from_this(), status = std::move(status)] {
      if (const auto self = weak.lock()) self->takeSchema(status);
    });
  }
  [[nodiscard]] LeaseStatus status() const;
  [[nodiscard]] bool isOnScheduler() const { return scheduler_->isCurrent(); }

 private:
  void ensureSchema();
  void takeSchema(const StoreStatus& status);
  void pump(const LeaseEvent& event);
  void take(const LeaseActions& actions);
  void perform(const action::SendRead& send);
  void perform(const action::SendWrite& send);
  void perform(const action::Publish& publish) { term_->publish(publish.term); }
  void perform(const action::FollowHolder& follow);
  [[nodiscard]] std::shared_ptr<void> orNull(const char* what, const std::function<std::shared_ptr<void>()>& make);
  void perform(const action::Log& line) { logger_.log(line.level, toString(key_) + ": " + line.line); }
  template <class Notice>
  void perform(const Notice& notice) {
    if (onNotice_) onNotice_(notice);
  }
  void rearm(const Instant& now);
  void keepWatch();
  void tellTrouble();
  void takeSnapshot();

  /// Things that a record's watcher learns are told from any thread; this brings them onto the scheduler.
  template <class Event>
  [[nodiscard]] std::function<void()> teller(Event event) {
    return [gate = gate_, event = std::move(event)] { gate->submit(event); };
  }

  // Constant after construction.
  const std::shared_ptr<Gate> gate_;
  const LeaseKey key_;
  const Logger logger_;
  const std::function<void(const LeaseNotice&)> onNotice_;
  const std::shared_ptr<LeaseStore> store_;
  const std::shared_ptr<Scheduler> scheduler_;
  const std::unique_ptr<RandomSource> random_;
  const std::shared_ptr<TermCell> term_{std::make_shared<TermCell>()};
  const std::shared_ptr<const TermCell> readTerm_{term_};

  // Touched on the scheduler only.
  LeaseMachine machine_;
  std::optional<Scheduler::TimerId> timer_{};
  std::shared_ptr<void> watch_{};
  bool watchAsked_{false};  ///< once for each candidacy, whether there was something to be had or not
  std::shared_ptr<void> follow_{};
  std::optional<StoreError> schemaFault_{};  ///< as it was told last
  TroubleLog trouble_{};
  std::optional<Instant> lastErrorSeen_{};
  std::chrono::seconds schemaPause_{2};  ///< before it is looked at again after a trouble that passes by itself

  std::atomic<bool> closed_{false};

  mutable std::mutex mutex_;  ///< guards what follows; held for a copy only
  LeaseStatus snapshot_{};
  std::optional<Instant> leaderSeenAt_{};
  std::optional<Instant> lastErrorAt_{};
};

void LeaseDriver::Impl::pump(const LeaseEvent& event) {
  if (closed_.load()) return;
  const Instant now = scheduler_->now();
  if (std::holds_alternative<event::Start>(event)) ensureSchema();
  if (gate_->takeProgress()) take(machine_.step(now, event::WorkProgressed{}));
  take(machine_.step(now, event));
  tellTrouble();
  takeSnapshot();
  rearm(scheduler_->now());
}

void LeaseDriver::Impl::take(const LeaseActions& actions) {
  keepWatch();  // before a read is sent, so that no change can fall between the read and the watch
  for (const LeaseAction& action : actions) {
    if (closed_.load()) return;
    std::visit([this](const auto& a) { perform(a); }, action);
  }
}

/// Beside the candidacy: where the schema is in place nothing waits for it, and where it is not the reads say so until
/// it is there.
void LeaseDriver::Impl::ensureSchema() {
  constexpr std::chrono::minutes patience{1};  // a table may take that long to come to be
  const auto answer = [gate = gate_](StoreStatus status) { gate->schemaAnswered(std::move(status)); };
  try {
    store_->ensureSchema({patience}, answer);
  } catch (const std::exception& error) {
    answer(StoreError{ErrorClass::transient, std::string{"the store threw: "} + error.what()});
  } catch (...) {
    answer(StoreError{ErrorClass::transient, "the store threw something that is no std::exception"});
  }
}

void LeaseDriver::Impl::takeSchema(const StoreStatus& status) {
  if (closed_.load()) return;
  if (status) {
    schemaFault_.reset();
    return takeSnapshot();
  }
  const StoreError& error = status.error();
  const bool news = schemaFault_ != error;
  schemaFault_ = error;
  takeSnapshot();
  logger_.log(news ? LogLevel::warn : LogLevel::debug,
              toString(key_) + ": the store is not ready, which is tried again: " + error.message);
  constexpr std::chrono::seconds longest{15};
  const bool passes = error.errorClass == ErrorClass::transient || error.errorClass == ErrorClass::throttled;
  // In a long outage it must not add much to the polls.
  const auto wait = passes ? std::exchange(schemaPause_, std::min(schemaPause_ * 2, longest)) : longest;
  scheduler_->schedule(wait, [weak = weak_from_this()] {
    if (const auto self = weak.lock(); self && !self->closed_.load()) self->ensureSchema();
  });
}

/// A store is the user's code: what it throws is an answer like any other.
void LeaseDriver::Impl::perform(const action::SendRead& send) {
  const auto answer = [gate = gate_, attempt = send.attempt](ReadOutcome outcome) {
    gate->submit(event::ReadReply{attempt, std::move(outcome)});
  };
  try {
    store_->read(key_, {send.timeout}, answer);
  } catch (const std::exception& error) {
    answer(StoreError{ErrorClass::transient, std::string{"the store threw: "} + error.what()});
  } catch (...) {
    answer(StoreError{ErrorClass::transient, "the store threw something that is no std::exception"});
  }
}

void LeaseDriver::Impl::perform(const action::SendWrite& send) {
  const auto answer = [gate = gate_, attempt = send.attempt](WriteOutcome outcome) {
    gate->submit(event::WriteReply{attempt, std::move(outcome)});
  };
  try {
    store_->write(send.request, {send.timeout}, answer);
  } catch (const std::exception& error) {
    answer(Unknown{{ErrorClass::transient, std::string{"the store threw: "} + error.what()}});
  } catch (...) {
    answer(Unknown{{ErrorClass::transient, "the store threw something that is no std::exception"}});
  }
}

void LeaseDriver::Impl::perform(const action::FollowHolder& follow) {
  follow_.reset();
  if (!follow.record || !follow.record->beacon) return;
  const std::function<void()> tell = teller(event::HolderProvenDead{follow.record->beacon->id});
  follow_ = orNull("death notice", [&]() -> std::shared_ptr<void> {
    const std::shared_ptr<DeathNotice> notice = store_->deathNotice();
    return notice ? notice->follow(*follow.record, [tell](const RecordVersion&) { tell(); }) : nullptr;
  });
}

/// What only makes things quicker is done without if the store throws.
std::shared_ptr<void> LeaseDriver::Impl::orNull(const char* what, const std::function<std::shared_ptr<void>()>& make) {
  std::string why = "something that is no std::exception";
  try {
    return make();
  } catch (const std::exception& error) {
    why = error.what();
  } catch (...) {
  }
  logger_.log(LogLevel::warn, toString(key_) + ": no " + what + ": the store threw: " + why);
  return nullptr;
}

/// Only a candidate needs to hear of changes; a leader's own heartbeats would wake it.
void LeaseDriver::Impl::keepWatch() {
  const LeaseState state = machine_.state();
  const bool wanted = state == LeaseState::candidate || state == LeaseState::acquiring;
  if (!wanted) {
    watch_.reset();
    watchAsked_ = false;
  } else if (!std::exchange(watchAsked_, true)) {
    watch_ = orNull("notification of changes", [this] { return store_->watch(key_, teller(event::StoreHint{})); });
  }
}

/// What keeps a candidate from being elected; a leader's errors are told as doubts.
void LeaseDriver::Impl::tellTrouble() {
  const std::optional<Instant> at = machine_.lastErrorAt();
  const LeaseState state = machine_.state();
  if (state == LeaseState::leading) trouble_.forget();
  const bool isNew = at && (!lastErrorSeen_ || lastErrorSeen_->boottime != at->boottime);
  lastErrorSeen_ = at;
  if (!isNew || (state != LeaseState::candidate && state != LeaseState::acquiring)) return;
  const StoreError& error = *machine_.lastError();
  logger_.log(trouble_.isNews(*at, error) ? LogLevel::warn : LogLevel::debug,
              toString(key_) + ": cannot compete just now, which is tried again: " + error.message);
}

void LeaseDriver::Impl::rearm(const Instant& now) {
  if (timer_) scheduler_->cancel(*std::exchange(timer_, std::nullopt));
  const auto until = machine_.untilWakeup(now);
  if (!until) return;
  timer_ = scheduler_->schedule(*until, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->timer_.reset();
    self->pump(event::Wakeup{});
  });
}

void LeaseDriver::Impl::takeSnapshot() {
  const std::lock_guard lock{mutex_};
  snapshot_.state = machine_.state();
  snapshot_.leader = machine_.leader();
  snapshot_.lastError = machine_.lastError();
  // Reads of a table of another shape fail in words of the server's; the look at the schema says what differs.
  const auto isMisconfigured = [](const std::optional<StoreError>& error) {
    return error && error->errorClass == ErrorClass::misconfigured;
  };
  if (isMisconfigured(snapshot_.lastError) && isMisconfigured(schemaFault_)) snapshot_.lastError = schemaFault_;
  snapshot_.inDoubt = machine_.inDoubt();
  snapshot_.workRunning = machine_.workRunning();
  snapshot_.terms = machine_.terms();
  leaderSeenAt_ = machine_.leaderSeenAt();
  lastErrorAt_ = machine_.lastErrorAt();
}

LeaseStatus LeaseDriver::Impl::status() const {
  const Instant now = scheduler_->now();
  const std::lock_guard lock{mutex_};
  LeaseStatus status = snapshot_;
  if (leaderSeenAt_) status.leaderSeenAgo = std::max(elapsedForHolder(*leaderSeenAt_, now), nanoseconds{0});
  if (lastErrorAt_) status.lastErrorAgo = std::max(elapsedForHolder(*lastErrorAt_, now), nanoseconds{0});
  return status;
}

void LeaseDriver::Gate::open(std::shared_ptr<Impl> impl) {
  const std::lock_guard lock{mutex_};
  impl_ = std::move(impl);
}

// In a forked child the lock may have been held by a thread that is not there.

void LeaseDriver::Gate::submit(LeaseEvent event) {
  if (!mark_.isHere()) return;
  const std::lock_guard lock{mutex_};
  if (impl_) impl_->submit(std::move(event));  // posts, and so runs nothing under the lock
}

void LeaseDriver::Gate::schemaAnswered(StoreStatus status) {
  if (!mark_.isHere()) return;
  const std::lock_guard lock{mutex_};
  if (impl_) impl_->schemaAnswered(std::move(status));
}

LeaseStatus LeaseDriver::Gate::status() const {
  if (!mark_.isHere()) return {};
  const std::lock_guard lock{mutex_};
  return impl_ ? impl_->status() : LeaseStatus{};
}

bool LeaseDriver::Gate::isOnScheduler() const {
  if (!mark_.isHere()) return false;
  const std::lock_guard lock{mutex_};
  return impl_ && impl_->isOnScheduler();
}

void LeaseDriver::Gate::close() noexcept {
  if (!mark_.isHere()) return;
  std::shared_ptr<Impl> last;  // destroyed after the lock is gone: it lets go of the store and of what that holds
  const std::lock_guard lock{mutex_};
  last.swap(impl_);
  if (last) last->close();
}

LeaseDriver::LeaseDriver(Options options, std::shared_ptr<LeaseStore> store, std::shared_ptr<Scheduler> scheduler,
                         std::unique_ptr<RandomSource> random)
    : gate_{std::make_shared<Gate>()} {
  auto impl =
      std::make_shared<Impl>(std::move(options), std::move(store), std::move(scheduler), std::move(random), gate_);
  term_ = impl->term();
  gate_->open(std::move(impl));
}

LeaseDriver::~LeaseDriver() { close(); }

void LeaseDriver::close() noexcept { gate_->close(); }
void LeaseDriver::submit(LeaseEvent event) { gate_->submit(std::move(event)); }
void LeaseDriver::reportProgress() noexcept { gate_->reportProgress(); }
bool LeaseDriver::isOnScheduler() const { return gate_->isOnScheduler(); }
const std::shared_ptr<const TermCell>& LeaseDriver::term() const noexcept { return term_; }
LeaseStatus LeaseDriver::status() const { return gate_->status(); }

}  // namespace tenure
