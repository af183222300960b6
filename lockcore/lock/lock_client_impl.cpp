#include "lock_client_impl.hpp"

#include <algorithm>
#include <utility>

#include <tenure/lockcore/candidate_id.hpp>

#include "lockcore/port/lock_errors.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "lockcore/runtime/user_code.hpp"

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// The client's randomness for all its machines. They run on one scheduler, but are made on any thread.
class LockClient::Impl::SharedRandom {
 public:
  explicit SharedRandom(std::unique_ptr<RandomSource> source) : source_{std::move(source)} {}

  [[nodiscard]] static std::unique_ptr<RandomSource> share(const std::shared_ptr<SharedRandom>& shared) {
    return std::make_unique<Share>(shared);
  }

 private:
  class Share final : public RandomSource {
   public:
    explicit Share(std::shared_ptr<SharedRandom> shared) : shared_{std::move(shared)} {}
    std::uint64_t next() override {
      const std::lock_guard lock{shared_->mutex_};
      return shared_->source_->next();
    }

   private:
    const std::shared_ptr<SharedRandom> shared_;
  };

  std::mutex mutex_;  ///< guards source_
  const std::unique_ptr<RandomSource> source_;
};

LockClient::Impl::Impl(LockClientOptions options, std::shared_ptr<const CandidateContext> common,
                       std::shared_ptr<Scheduler> scheduler, std::unique_ptr<RandomSource> random)
    : options_{std::move(options)},
      common_{std::move(common)},
      random_{std::make_shared<SharedRandom>(std::move(random))},
      scheduler_{std::move(scheduler)},
      memories_{options_.remembered} {}

std::shared_ptr<LockClient::Impl> LockClient::Impl::make(std::shared_ptr<LeaseStore> store, LockClientOptions options,
                                                         Runtime runtime) {
  if (options.candidate.empty()) options.candidate = hostNameAsCandidate();
  OptionFaults faults = faultsOf(options);
  if (!store) faults.push_back({"store", "is missing; give a store such as makeSqliteStore(...)"});
  if (!faults.empty()) throw_exception_from_error(faults, BOOST_CURRENT_LOCATION);
  if (!runtime.random) runtime.random = std::make_unique<SystemRandom>();
  std::shared_ptr<Scheduler> scheduler = runtime.scheduler ? std::move(runtime.scheduler) : sharedScheduler();
  std::string candidate = newCandidate(options.candidate, *runtime.random);
  const auto common = CandidateContext::make(std::move(store), scheduler, options.logger, candidate,
                                             std::move(runtime.executor), candidate);
  return std::make_shared<Impl>(std::move(options), common, std::move(scheduler), std::move(runtime.random));
}

std::unique_ptr<RandomSource> LockClient::Impl::randomness() const { return SharedRandom::share(random_); }

std::shared_ptr<Scheduler> LockClient::Impl::scheduler() const {
  const std::lock_guard lock{mutex_};
  return scheduler_;
}

LockClient::Impl::SessionPtr LockClient::Impl::acquire(const LeaseKey& key, AcquireOptions options,
                                                       LockSession::Acquired acquired,
                                                       std::optional<nanoseconds> longest) {
  const std::string name = "lock " + toString(key);
  if (!isHere()) {
    acquired(LockError{LockErrc::forked, name + ": this client belongs to the parent process; make one here"});
    return nullptr;
  }
  const auto timing = checked(key, options, options_.lease, *common_->store);
  if (timing.has_error()) {
    acquired(invalidOptionsError(key, timing.error()));
    return nullptr;
  }
  LockSession::Request request{key, std::move(options), timing->lease, timing->timing, longest};
  std::unique_lock lock{mutex_};
  if (closed_) {
    lock.unlock();
    acquired(LockError{LockErrc::closed, name + ": this client was closed; make a new one"});
    return nullptr;
  }
  if (const auto known = sessions_.find(key); known != sessions_.end()) {
    const bool ending = known->second->isEnding();
    if (ending && request.options.waitFor != milliseconds{0}) {
      SessionPtr session = make(std::move(request), std::move(acquired));
      std::deque<SessionPtr>& queue = waiting_[key];
      std::erase_if(queue, [](const SessionPtr& one) { return !one->isWanted(); });  // those whose time is over
      queue.push_back(session);
      return session;
    }
    lock.unlock();
    acquired(LockError{LockErrc::heldBySelf, name + (ending ? " is being released by this client just now; try again"
                                                            : " is held or being acquired by this very client; pass "
                                                              "its Lock on, or share() it")});
    return nullptr;
  }
  SessionPtr session = make(std::move(request), std::move(acquired));
  begin(session);
  if (!prepared_) unprepared_.push_back(session);
  const bool starts = prepared_;
  const std::optional<LivenessFile> livenessFile = livenessFile_;
  lock.unlock();
  if (starts) session->start(livenessFile);
  prepare();
  return session;
}

/// Called with the mutex held.
LockClient::Impl::SessionPtr LockClient::Impl::make(LockSession::Request request, LockSession::Acquired acquired) {
  const LeaseKey key = request.key;
  auto lane = std::make_shared<CallbackLane>(common_->executor);
  lanes_.add(lane);
  return std::make_shared<LockSession>(
      common_, std::move(request), std::move(lane), std::move(acquired),
      [weak = weak_from_this(), key](ReleaseResult result, std::shared_ptr<const LeaseMemory> memory) {
        const auto self = weak.lock();
        return self ? self->ended(key, result, std::move(memory)) : nullptr;
      });
}

/// Called with the mutex held.
void LockClient::Impl::begin(const SessionPtr& session) {
  session->begin(scheduler_, memories_.take(session->key()), randomness());
  sessions_.emplace(session->key(), session);
}

/// Called with the mutex held: the first session that still waits; null if there is none.
LockClient::Impl::SessionPtr LockClient::Impl::takeWaiting(const LeaseKey& key) {
  const auto queue = waiting_.find(key);
  if (queue == waiting_.end()) return nullptr;
  SessionPtr first;
  while (!queue->second.empty() && !first) {
    if (queue->second.front()->isWanted()) first = std::move(queue->second.front());
    queue->second.pop_front();
  }
  if (queue->second.empty()) waiting_.erase(queue);
  return first;
}

/// The key is free; the session has told its users once the answer is gone.
std::shared_ptr<void> LockClient::Impl::ended(const LeaseKey& key, ReleaseResult result,
                                              std::shared_ptr<const LeaseMemory> memory) {
  SessionPtr next;
  SessionPtr last;  // destroyed after the lock is released
  std::shared_ptr<void> leaving;
  std::optional<LivenessFile> livenessFile;
  {
    const std::lock_guard lock{mutex_};
    const auto old = sessions_.find(key);
    if (old == sessions_.end()) return nullptr;
    leaving = std::shared_ptr<void>{nullptr, [self = shared_from_this()](std::nullptr_t) { self->left(); }};
    ++leaving_;
    last = std::move(old->second);
    sessions_.erase(old);
    memories_.put(key, std::move(memory));
    if (closed_) endings_.insert_or_assign(key, result);
    next = takeWaiting(key);
    if (next) begin(next);
    livenessFile = livenessFile_;
  }
  if (next) next->start(livenessFile);
  return leaving;
}

void LockClient::Impl::left() {
  const std::lock_guard lock{mutex_};
  if (--leaving_ == 0 && sessions_.empty()) allEnded_.notify_all();
}

std::optional<LockError> LockClient::Impl::whyNotWait(const LeaseKey& key) const {
  if (!isHere()) return std::nullopt;  // refused for another reason
  const std::shared_ptr<Scheduler> loop = scheduler();
  if (!loop || !loop->isCurrent()) return std::nullopt;
  return LockError{LockErrc::wouldBlock, "lock " + toString(key) +
                                             ": this is a thread of the client's own scheduler, where waiting would "
                                             "wait for itself; use acquireAsync"};
}

std::vector<LockClient::Impl::SessionPtr> LockClient::Impl::sessions() const {
  const std::lock_guard lock{mutex_};
  std::vector<SessionPtr> all;
  for (const auto& [key, session] : sessions_) all.push_back(session);
  return all;
}

bool LockClient::Impl::holds(const LeaseKey& key) const {
  if (!isHere()) return false;
  const std::lock_guard lock{mutex_};
  const auto found = sessions_.find(key);
  return found != sessions_.end() && found->second->isHeld();
}

std::vector<LeaseKey> LockClient::Impl::held() const {
  std::vector<LeaseKey> keys;
  if (!isHere()) return keys;
  for (const SessionPtr& session : sessions()) {
    if (session->isHeld()) keys.push_back(session->key());
  }
  return keys;
}

std::vector<std::shared_ptr<CallbackLane>> LockClient::Impl::lanes() const {
  const std::lock_guard lock{mutex_};
  return lanes_.all();
}

bool LockClient::Impl::mustNotBlock() const {
  const std::shared_ptr<Scheduler> loop = scheduler();
  const std::vector<std::shared_ptr<CallbackLane>> all = lanes();
  const auto runs = [](const std::shared_ptr<CallbackLane>& lane) { return lane->isCurrent(); };
  return (loop && loop->isCurrent()) || std::any_of(all.begin(), all.end(), runs);
}

/// The sessions that have to end. None begins afterwards: in one step the client is closed and nobody waits any more.
std::vector<LockClient::Impl::SessionPtr> LockClient::Impl::beginClose() {
  std::vector<SessionPtr> all;
  std::map<LeaseKey, std::deque<SessionPtr>> unwanted;
  {
    const std::lock_guard lock{mutex_};
    for (const auto& [key, session] : sessions_) all.push_back(session);
    if (!std::exchange(closed_, true)) {
      for (const SessionPtr& session : all) endings_.emplace(session->key(), ReleaseResult::unknown);
    }
    unwanted.swap(waiting_);
  }
  for (auto& [key, queue] : unwanted) {
    for (const SessionPtr& one : queue) one->cancel(LockErrc::cancelled);
  }
  return all;
}

Patience LockClient::Impl::patienceFor(const std::vector<SessionPtr>& all) const {
  nanoseconds longest = options_.lease.duration;
  for (const SessionPtr& session : all) {
    longest = std::max<nanoseconds>(longest, session->timing().duration() + session->timing().drainTimeout());
  }
  return Patience{longest + std::chrono::seconds{1}};
}

CloseReport LockClient::Impl::awaitEnds(const std::vector<SessionPtr>& all, const Patience& patience) {
  for (const SessionPtr& session : all) session->close();
  const bool waits = !mustNotBlock();
  std::unique_lock lock{mutex_};
  if (waits) allEnded_.wait_for(lock, patience.left(), [this] { return sessions_.empty() && leaving_ == 0; });
  return {endings_};
}

CloseReport LockClient::Impl::close() {
  const std::vector<SessionPtr> all = beginClose();
  return awaitEnds(all, patienceFor(all));
}

void LockClient::Impl::abandon() {
  endObservers();
  const std::vector<SessionPtr> all = beginClose();
  const Patience patience = patienceFor(all);
  const bool waits = !mustNotBlock();
  if (!waits) {
    // Nothing is waited for on this thread, but releases and withdrawals that are under way shall reach the store.
    for (const SessionPtr& session : all) session->keep(shared_from_this(), patience);
  }
  const CloseReport report = awaitEnds(all, patience);
  if (!waits) return;
  if (!report.clean())
    common_->logger.log(LogLevel::warn, common_->candidate + ": a lock was left to expire at the end");
  for (const std::shared_ptr<CallbackLane>& lane : lanes()) lane->waitIdle(patience.left());
  for (const SessionPtr& session : all) session->detach();
  std::shared_ptr<Scheduler> last;  // destroyed after the lock is released
  const std::lock_guard lock{mutex_};
  last.swap(scheduler_);
}

}  // namespace tenure
