#include "elector_impl.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/lease_store.hpp>

#include "lockcore/runtime/system_random.hpp"

namespace tenure {

using std::chrono::nanoseconds;

LeaderElector::Impl::Impl(Group group, Listener listener, Runtime runtime, const std::shared_ptr<Scheduler>& scheduler,
                          ElectorPart part)
    : group_{std::move(group)},
      logger_{group_.logger()},
      scheduler_{scheduler},
      clock_{scheduler->clock()},
      pool_{ThreadPool::forCallbacks()},
      stopTokens_{ThreadPool::forStopTokens()},
      termLane_{std::make_shared<CallbackLane>(containing(runtime.executor))},
      noticeLane_{std::make_shared<CallbackLane>(containing(runtime.executor))},
      part_{std::move(part)},
      listeners_{[this](const std::string& failure) { log(LogLevel::error, failure); }} {
  if (!runtime.random) runtime.random = std::make_unique<SystemRandom>();
  candidate_ = part_.candidate.empty() ? CandidateId::make(group_.options().candidate.id, *runtime.random).text()
                                       : part_.candidate;
  listeners_.add(std::move(listener));
  random_ = std::move(runtime.random);
}

std::shared_ptr<LeaderElector::Impl> LeaderElector::Impl::make(Group group, Listener listener, Runtime runtime,
                                                               ElectorPart part) {
  std::shared_ptr<Scheduler> scheduler = runtime.scheduler ? std::move(runtime.scheduler) : sharedScheduler();
  auto impl =
      std::make_shared<Impl>(std::move(group), std::move(listener), std::move(runtime), scheduler, std::move(part));
  impl->connect(std::move(scheduler));
  return impl;
}

/// Callbacks must run whatever the user's executor does, or a term would never end: where it throws, threads of the
/// library take over. The returned executor outlives the elector, so it must not refer to it.
Executor LeaderElector::Impl::containing(Executor executor) const {
  if (!executor) return [pool = pool_](std::function<void()> task) { pool->post(std::move(task)); };
  return [executor = std::move(executor), pool = pool_, logger = logger_,
          name = group_.name()](std::function<void()> task) {
    std::string what = "no std::exception";
    try {
      return executor(task);
    } catch (const std::exception& error) {
      what = error.what();
    } catch (...) {
    }
    logger.log(LogLevel::error,
               name + ": the executor threw (" + what + "); the callback runs on a thread of the library's own");
    pool->post(std::move(task));
  };
}

/// The driver calls back on the scheduler, where the elector may already be gone. So it gets a weak reference, which
/// exists only after construction.
void LeaderElector::Impl::connect(std::shared_ptr<Scheduler> scheduler) {
  MachineOptions machine{group_.key(), candidate_, group_.timing()};
  machine.priority = group_.options().candidate.priority;
  machine.data = part_.data;
  machine.displayClock = &wallClockMillisForDisplay;
  LeaseDriver::Options options{std::move(machine), logger_, [weak = weak_from_this()](const LeaseNotice& notice) {
                                 if (const auto self = weak.lock()) self->take(notice);
                               }};
  driver_ = std::make_shared<LeaseDriver>(std::move(options), group_.store(), std::move(scheduler), std::move(random_));
  cell_ = driver_->term();
}

void LeaderElector::Impl::addListener(Listener listener) {
  if (!isOriginalProcess()) return;
  const std::lock_guard lock{mutex_};
  if (phase_ != Phase::fresh) throw std::logic_error("LeaderElector: listeners are added before start()");
  listeners_.add(std::move(listener));
}

void LeaderElector::Impl::start(std::optional<LeaseSighting> sighting) {
  {
    const std::lock_guard lock{mutex_};
    if (phase_ == Phase::stopping)
      throw std::logic_error("LeaderElector: it was stopped; make a new one to start again");
    if (std::exchange(phase_, Phase::started) == Phase::started) return;
  }
  log(LogLevel::info, personOf(candidate_) + " competes on " + group_.store()->describe());
  const std::shared_ptr<DeathNotice> notice = deathNotice();
  if (!notice) return driver_->submit(event::Start{{}, std::move(sighting)});
  // Creating the liveness file is file work: not on this thread, and not on the renewal thread.
  pool_->post([self = shared_from_this(), notice, sighting = std::move(sighting)] {
    self->driver_->submit(event::Start{self->beaconOf(*notice), sighting});
  });
}

/// A store is the user's code, which may throw. Without a death notice (proof of a death by the kernel) a crash costs a
/// lease; without a start there would be no candidate.
std::shared_ptr<DeathNotice> LeaderElector::Impl::deathNotice() const {
  try {
    return group_.store()->deathNotice();
  } catch (const std::exception& error) {
    log(LogLevel::warn, std::string{"no death notice for this process: the store threw: "} + error.what());
  } catch (...) {
    log(LogLevel::warn, "no death notice for this process: the store threw something that is no std::exception");
  }
  return nullptr;
}

std::optional<Beacon> LeaderElector::Impl::beaconOf(DeathNotice& notice) const {
  std::string what = "the store threw something that is no std::exception";
  try {
    StoreResult<Beacon> beacon = notice.beacon();
    if (beacon) return *beacon;
    what = beacon.error().message;
  } catch (const std::exception& error) {
    what = std::string{"the store threw: "} + error.what();
  } catch (...) {
  }
  log(LogLevel::warn, "no death notice for this process: " + what);
  return std::nullopt;
}

void LeaderElector::Impl::requestStop() {
  {
    const std::lock_guard lock{mutex_};
    const Phase before = std::exchange(phase_, Phase::stopping);
    if (before == Phase::fresh) result_ = ReleaseResult::notHeld;  // nothing was begun
    if (before != Phase::started) return;
  }
  driver_->submit(event::Stop{});
}

ReleaseResult LeaderElector::Impl::stop() {
  const Patience patience{group_.timing()};
  requestStop();
  if (mustNotBlock()) return ReleaseResult::unknown;
  return awaitStopped(patience).value_or(ReleaseResult::unknown);
}

std::optional<ReleaseResult> LeaderElector::Impl::awaitStopped(const Patience& patience) {
  std::unique_lock lock{mutex_};
  stopped_.wait_for(lock, patience.left(), [this] { return result_.has_value(); });
  const std::optional<ReleaseResult> result = result_;
  lock.unlock();
  // The last notices are delivered before stop() returns. Work that outlasts the drain timeout is not waited for.
  noticeLane_->waitIdle(std::min<nanoseconds>(group_.timing().duration(), patience.left()));
  return result;
}

void LeaderElector::Impl::abandon() { abandon(Patience{group_.timing()}); }

void LeaderElector::Impl::abandon(const Patience& patience) {
  if (mustNotBlock()) {
    bool endsLater = false;
    {
      const std::lock_guard lock{mutex_};
      endsLater = !result_ && phase_ != Phase::fresh;
      if (endsLater) keepAlive_ = shared_from_this();
    }
    requestStop();
    if (!endsLater) driver_->close();
    return;
  }
  requestStop();
  const bool ended = awaitStopped(patience).has_value();
  nanoseconds grace{0};
  if (const auto term = ended ? nullptr : takeTerm()) {
    // The scheduler stands still (a loop of the user that was stopped first), so the machine cannot end the term.
    endTerm(term, {RevokeReason::stopped, "the elector was destroyed while its scheduler stood still", term->token});
    grace = std::chrono::seconds{1};
  }
  termLane_->waitIdle(std::max(patience.left(), grace));
  noticeLane_->waitIdle(patience.left());
  driver_->close();  // a library thread may keep this for a moment; the user's scheduler may be gone by then
  if (!listeners_.mute()) return log(LogLevel::error, "the elector is destroyed while a callback of it is running");
  if (ended) listeners_.clear();  // here and now, because a library thread may hold the last reference to this
}

ElectorStatus LeaderElector::Impl::statusWithoutLease() const {
  ElectorStatus status{group_.name(), candidate_, {}};
  const TermState state = termState();
  const Instant at = now();  // read after the state, so that a pause in between shows
  if (state.leadsAt(at)) status.fencingToken = state.token;
  status.remaining = state.remainingAt(at);
  return status;
}

ElectorStatus LeaderElector::Impl::status() const {
  ElectorStatus status = statusWithoutLease();
  status.store = group_.store()->describe();
  status.lease = driver_->status();
  return status;
}

}  // namespace tenure
