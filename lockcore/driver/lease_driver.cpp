#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "lease_driver_impl.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/runtime/user_code.hpp"

namespace tenure {

void LeaseDriver::Link::open(std::shared_ptr<Impl> impl) {
  const std::lock_guard lock{mutex_};
  impl_ = std::move(impl);
}

std::optional<LeaseStatus> LeaseDriver::Link::tryStatus() const {
  if (!mark_.isHere()) return std::nullopt;
  const std::unique_lock lock{mutex_, std::try_to_lock};
  if (!lock) return std::nullopt;
  return impl_ ? impl_->tryStatus() : LeaseStatus{LeaseState::stopped};
}
void LeaseDriver::Link::close() noexcept {
  if (!mark_.isHere()) return;
  closed_.store(true);
  std::shared_ptr<Impl> last;  // destroyed after the lock is released: it releases the store and more
  const std::lock_guard lock{mutex_};
  last.swap(impl_);
}

LeaseDriver::LeaseDriver(Options options, std::shared_ptr<LeaseStore> store, std::shared_ptr<Scheduler> scheduler,
                         std::unique_ptr<RandomSource> random)
    : link_{std::make_shared<Link>()} {
  auto impl =
      std::make_shared<Impl>(std::move(options), std::move(store), std::move(scheduler), std::move(random), link_);
  term_ = impl->term();
  link_->open(std::move(impl));
}

LeaseDriver::~LeaseDriver() { close(); }

void LeaseDriver::close() noexcept { link_->close(); }
bool LeaseDriver::isClosed() const noexcept { return link_->isClosed(); }
void LeaseDriver::submit(LeaseEvent event) {
  link_->post([event = std::move(event)](Impl& impl) { impl.pump(event); });
}
bool LeaseDriver::schedule(std::chrono::nanoseconds delay, Scheduler::Task task) {
  return link_->post([delay, task = std::move(task)](Impl& impl) { impl.schedule(delay, task); });
}
void LeaseDriver::keep(std::shared_ptr<void> owner, std::chrono::nanoseconds atMost) {
  link_->post([owner = std::move(owner), atMost](Impl& impl) { impl.keep(owner, atMost); });
}
bool LeaseDriver::withdraw() {
  return link_->ask([](Impl& impl) { return impl.withdraw(); });
}
void LeaseDriver::endTerm(FencingToken token) {
  link_->post([token](Impl& impl) { impl.endLedTerm(token); });
}
void LeaseDriver::reportProgress(const Instant& at) noexcept { link_->reportProgress(at.boottime); }
void LeaseDriver::reportEffective(FencingToken token) {
  link_->post([token](Impl& impl) { impl.reportEffective(token); });
}
bool LeaseDriver::isOnScheduler() const {
  return link_->ask([](const Impl& impl) { return impl.isOnScheduler(); });
}
const std::shared_ptr<const TermCell>& LeaseDriver::term() const noexcept { return term_; }
LeaseStatus LeaseDriver::status() const {
  return link_->ask([](const Impl& impl) { return impl.status(); });
}
std::optional<LeaseStatus> LeaseDriver::tryStatus() const { return link_->tryStatus(); }
void LeaseDriver::countIn(std::shared_ptr<LeaseAccount> account) {
  link_->post([account = std::move(account)](Impl& impl) { impl.countIn(account); });
}

using std::chrono::nanoseconds;

namespace {

bool isMisconfigured(const std::optional<StoreError>& error) {
  return error && error->errorClass == ErrorClass::misconfigured;
}

}  // namespace

void LeaseDriver::Impl::pump(const LeaseEvent& event) {
  if (link_->isClosed()) return;
  const Instant now = scheduler_->now();
  if (checksSchema_ && std::holds_alternative<event::Start>(event)) ensureSchema();
  if (account_) account_->took(event, machine_.term().token, now);
  if (const auto at = link_->takeProgress()) {
    take(step(now, event::WorkProgressed{std::max(now.boottime - *at, nanoseconds{0})}));
  }
  take(step(now, event));
  reportError();
  gaugeClocks(now);
  rearm(scheduler_->now());
}

LeaseActions LeaseDriver::Impl::step(const Instant& now, const LeaseEvent& event) {
  const std::lock_guard lock{mutex_};
  if (!std::exchange(withdrawn_, false)) return machine_.step(now, event);
  LeaseActions actions = machine_.step(now, event::Stop{});
  LeaseActions more = machine_.step(now, event);
  std::move(more.begin(), more.end(), std::back_inserter(actions));
  return actions;
}

bool LeaseDriver::Impl::withdraw() {
  bool open = false;
  {
    const std::lock_guard lock{mutex_};
    withdrawn_ = true;
    open = machine_.acquisitionOpen();
  }
  post([](Impl& impl) { impl.pump(event::Stop{}); });
  return open;
}

void LeaseDriver::Impl::endLedTerm(FencingToken token) {
  const TermState term = machine_.term();
  const bool led = term.token == token && term.leadsAt(scheduler_->now());
  if (!led) return pump(event::Wakeup{});
  pump(event::WorkFailed{"the work was asked to stop at the deadline, just before the renewal was confirmed"});
}

void LeaseDriver::Impl::take(LeaseActions actions) {
  keepWatch();  // before a read is sent, so that no change can fall between the read and the watch
  for (LeaseAction& action : actions) {
    if (link_->isClosed()) return;
    std::visit([this](auto& a) { perform(std::move(a)); }, action);
  }
}

/// Runs in parallel to the candidacy: where the schema is in place, nothing waits for this check. Where it is not, the
/// reads report that until it is.
void LeaseDriver::Impl::ensureSchema() {
  constexpr std::chrono::minutes patience{1};  // the creation of a table may take that long
  const auto answer = [link = link_](StoreStatus status) {
    link->post([status = readable(std::move(status))](Impl& impl) { impl.takeSchema(status); });
  };
  const auto error = storeErrorOf([&] { store_->ensureSchema({patience}, answer); });
  if (error) answer(*error);
}

void LeaseDriver::Impl::takeSchema(const StoreStatus& status) {
  if (link_->isClosed() || machine_.state() == LeaseState::stopped) return;
  const bool news = schema_ != status;
  {
    const std::lock_guard lock{mutex_};
    schema_ = status;
    schemaAt_ = scheduler_->now();
  }
  if (status) {
    // Reads that failed because a table was missing have delayed the next read, by as much as a heartbeat.
    if (isMisconfigured(machine_.lastError())) pump(event::StoreHint{});
    return;
  }
  const StoreError& error = status.error();
  logger_.log(news ? LogLevel::warn : LogLevel::debug, toString(machine_.key()) + ": the store is not ready" +
                                                           std::string{whatHappensNext(error)} + error.message);
  constexpr std::chrono::seconds longest{15};
  const bool passes = error.errorClass == ErrorClass::transient || error.errorClass == ErrorClass::throttled;
  // In a long outage these checks must not add much to the polls.
  const auto wait = passes ? std::exchange(schemaPause_, std::min(schemaPause_ * 2, longest)) : longest;
  schemaTimer_ = scheduler_->schedule(wait, [weak = weak_from_this()] {
    if (const auto self = weak.lock(); self && !self->link_->isClosed()) self->ensureSchema();
  });
}

/// A store is the user's code: what it throws is an answer like any other.
void LeaseDriver::Impl::perform(const action::SendRead& send) {
  const auto answer = [link = link_, attempt = send.attempt](ReadOutcome outcome) {
    link->post([event = LeaseEvent{event::ReadReply{attempt, readable(std::move(outcome))}}](Impl& impl) {
      impl.pump(event);
    });
  };
  const auto error = storeErrorOf([&] { store_->read(machine_.key(), {send.timeout, send.mayBeLate}, answer); });
  if (error) answer(*error);
}

void LeaseDriver::Impl::perform(action::SendWrite&& send) {
  if (account_) account_->sent(send.attempt, send.request.purpose, scheduler_->now());
  const auto answer = [link = link_, attempt = send.attempt](WriteOutcome outcome) {
    link->post([event = LeaseEvent{event::WriteReply{attempt, readable(std::move(outcome))}}](Impl& impl) {
      impl.pump(event);
    });
  };
  const auto error = storeErrorOf([&] { store_->write(std::move(send.request), {send.timeout}, answer); });
  if (error) answer(Unknown{*error});
}

void LeaseDriver::Impl::perform(const action::FollowHolder& follow) {
  follow_.reset();
  if (!follow.record || !follow.record->livenessFile) return;
  const std::function<void()> tell = teller(event::HolderProvenDead{follow.record->livenessFile->id});
  follow_ = orNull("death notice", [&]() -> std::shared_ptr<void> {
    const std::shared_ptr<DeathNotice> notice = extended(store_)->deathNotice();
    return notice ? notice->follow(*follow.record, [tell](const RecordVersion&) { tell(); }) : nullptr;
  });
}

std::shared_ptr<void> LeaseDriver::Impl::orNull(const char* what, const std::function<std::shared_ptr<void>()>& make) {
  return tenure::orNull(logger_, machine_.key(), what, make);
}

/// Only a candidate must be notified of changes; a leader's own heartbeats would wake it, but a leader must be notified
/// of a loss. A candidate that acquires without a read (a lock that was handed over) needs no watch unless that fails.
void LeaseDriver::Impl::keepWatch() {
  const LeaseState state = machine_.state();
  if (state != LeaseState::leading && state != LeaseState::draining) {
    lossWatch_.reset();
    lossAsked_ = false;
  } else if (!std::exchange(lossAsked_, true)) {
    lossWatch_ =
        orNull("notice of a loss", [this] { return extended(store_)->watchLoss(teller(event::StoreHint{true})); });
  }
  if (state != LeaseState::candidate && state != LeaseState::acquiring) {
    watch_.reset();
    watchAsked_ = false;
  } else if (state == LeaseState::candidate && !std::exchange(watchAsked_, true)) {
    watch_ =
        orNull("notification of changes", [this] { return store_->watch(machine_.key(), teller(event::StoreHint{})); });
  }
}

/// A first read may come before the tables are created. That is no error.
bool LeaseDriver::Impl::awaitsTables() const {
  if (!checksSchema_ || !isMisconfigured(machine_.lastError())) return false;
  if (!schema_) return true;
  return schema_->has_value() && machine_.lastErrorAt()->boottime <= schemaAt_.boottime;
}

/// Logs what prevents a candidate from being elected. A leader's errors are reported as doubts.
void LeaseDriver::Impl::reportError() {
  const std::optional<Instant> at = machine_.lastErrorAt();
  const LeaseState state = machine_.state();
  if (state == LeaseState::leading) errors_.forget();
  const bool isNew = at && std::exchange(lastErrorSeen_, at->boottime) != at->boottime;
  if (!isNew || (state != LeaseState::candidate && state != LeaseState::acquiring)) return;
  const StoreError& error = *machine_.lastError();
  if (awaitsTables()) return;
  logger_.log(
      errors_.isNews(*at, error) ? LogLevel::warn : LogLevel::debug,
      toString(machine_.key()) + ": cannot compete just now" + std::string{whatHappensNext(error)} + error.message);
}

void LeaseDriver::Impl::gaugeClocks(const Instant& now) {
  const auto beyond = [&] {
    const std::lock_guard lock{mutex_};
    return gauge_.noteBeyond(now);
  };
  if (!beyond()) return;
  logger_.log(
      LogLevel::warn,
      toString(machine_.key()) + ": CLOCK_MONOTONIC and CLOCK_MONOTONIC_RAW are " +
          std::to_string(std::lround(*gauge_.ppm())) +
          " parts per million apart. That does no harm while NTP slews the clock. If it stays so, this machine's clock "
          "is further off than lease.clock_margin covers, and only fencing tokens keep two leaders apart: set a larger "
          "lease.clock_margin");
}

void LeaseDriver::Impl::rearm(const Instant& now) {
  if (timer_) scheduler_->cancel(*std::exchange(timer_, std::nullopt));
  const auto until = machine_.untilWakeup(now);
  if (account_) account_->armed(until ? std::optional{now + *until} : std::nullopt);
  if (!until) return;
  timer_ = scheduler_->schedule(*until, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->timer_.reset();
    self->pump(event::Wakeup{});
  });
}

LeaseStatus LeaseDriver::Impl::statusAt(const Instant& now) const {
  const auto ago = [&now](const std::optional<Instant>& then) {
    return then ? std::max(elapsedForHolder(*then, now), nanoseconds{0}) : nanoseconds{-1};
  };
  // If a table has another shape, reads fail with the server's own messages; the check of the schema says what differs.
  LeaseStatus status{machine_.state(), machine_.leader(), ago(machine_.leaderSeenAt())};
  status.schema = schema_;
  if (!awaitsTables()) status.lastError = machine_.lastError();
  const bool schemaTellsMore = isMisconfigured(status.lastError) && schema_ && schema_->has_error() &&
                               schema_->error().errorClass == ErrorClass::misconfigured;
  if (schemaTellsMore) status.lastError = schema_->error();
  status.lastErrorAgo = ago(machine_.lastErrorAt());
  status.inDoubt = machine_.inDoubt();
  status.workRunning = machine_.workRunning();
  status.terms = machine_.terms();
  status.clockRatePpm = gauge_.ppm();
  status.heartbeatLag = machine_.heartbeatLag();
  status.worstHeartbeatLag = machine_.worstHeartbeatLag();
  status.leaderRenews = machine_.leaderRenews();
  status.ready = machine_.isReady();
  status.cooldown = machine_.cooldown(now);
  return status;
}

}  // namespace tenure
