#include <algorithm>
#include <list>
#include <stop_token>
#include <utility>

#include <tenure/lockcore/lock_client.hpp>

#include "lock_client_impl.hpp"
#include "lockcore/port/lock_errors.hpp"
#include "lockcore/port/saturating_time.hpp"
#include "lockcore/runtime/patience.hpp"
#include "lockcore/runtime/user_code.hpp"
#include "lockcore/runtime/waiter.hpp"

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

/// acquireAll's options for a further lock. `left`: of the time for all together, if that is bounded. Empty: none.
std::optional<AcquireOptions> optionsForNext(const AcquireOptions& all, std::optional<nanoseconds> left) {
  if (!left) return all;
  if (*left <= nanoseconds{0}) return std::nullopt;
  AcquireOptions next = all;
  // Rounded up: 0 would be a single attempt, which may take 5 s.
  if (*all.waitFor > milliseconds{0}) next.waitFor = std::chrono::ceil<milliseconds>(*left);
  return next;
}

LockError noTimeLeft(const LeaseKey& key) {
  return {LockErrc::timeout, "lock " + toString(key) +
                                 " was not asked for: the time for all locks was over when those before it were won"};
}

/// The lease of a lock runs while those after it are waited for. Empty: all of `won` are held.
std::optional<LockError> lossAmong(const std::vector<Lock>& won) {
  const auto lost = std::find_if(won.begin(), won.end(), [](const Lock& lock) {
    return !lock.isHeld() || lock.stopToken().stop_requested();  // the watchdog may stop it as a renewal arrives
  });
  if (lost == won.end()) return std::nullopt;
  const std::optional<TermEnd> why = lost->loss();  // empty where the clock has ended it just now
  LockError error{LockErrc::lost, "lock " + toString(lost->key()) + " was lost while the others were waited for" +
                                      (why ? ": " + why->detail : "") + "; acquire all again"};
  error.reason = why ? why->reason : RevokeReason::expired;
  return error;
}

/// Releases all at once. The error names each lock whose release is not acknowledged within `patience`.
LockError giveBack(std::vector<Lock> won, LockError error, nanoseconds patience) {
  const Patience together{patience};
  std::vector<std::shared_ptr<Waiter<ReleaseResult>>> results;
  for (Lock& lock : won) {
    results.push_back(std::make_shared<Waiter<ReleaseResult>>());
    LockSession::release(lock, [result = results.back()](ReleaseResult known) { result->tell(known); });
  }
  std::string pending;
  for (std::size_t i = 0; i < won.size(); ++i) {
    const auto result = results[i]->waitFor(together.left()).value_or(ReleaseResult::unknown);
    if (result == ReleaseResult::unknown) pending += (pending.empty() ? "" : ", ") + toString(won[i].key());
  }
  if (pending.empty()) return error;
  error.message +=
      "; of the locks that were won, these are not released yet; their release continues in the background until "
      "their leases end: " +
      pending;
  return error;
}

/// The result of acquireAsync on its way to the callback.
class AsyncAnswer {
 public:
  explicit AsyncAnswer(LockResult<Lock> result) : result_{std::move(result)} {}

  [[nodiscard]] LockResult<Lock> take() {
    const std::lock_guard lock{mutex_};
    taken_ = true;
    return std::move(result_);
  }

  /// A lock whose owner never hears of it would keep everybody else out. So it is released if no thread has begun the
  /// lane's task within one lease. Only on the scheduler.
  static void expect(const std::shared_ptr<AsyncAnswer>& answer, const std::shared_ptr<CallbackLane>& lane,
                     const std::shared_ptr<const CandidateContext>& common, milliseconds lease) {
    const auto scheduler = common->scheduler.lock();
    if (!scheduler) return;
    scheduler->schedule(lease, [answer, lane, common, lease] {
      if (!lane->isWaiting()) return;  // a callback that blocks keeps those behind it waiting, as users expect
      if (const auto why = common->whyNothingRuns(lease)) {
        answer->giveBack("acquireAsync's callback " + *why, common->logger);
      }
      expect(answer, lane, common, lease);  // it tries to start a thread each time
    });
  }

 private:
  void giveBack(const std::string& why, const Logger& logger) {
    Lock gone;  // is released after the mutex
    const std::lock_guard lock{mutex_};
    if (taken_ || result_.has_error()) return;
    gone = *std::move(result_);
    const std::string name = "lock " + toString(gone.key());
    logger.log(LogLevel::warn, name + " is released: " + why);
    LockError error{LockErrc::lost, name + " was won, and released again: " + why};
    error.reason = RevokeReason::notStarted;
    result_ = std::move(error);
  }

  std::mutex mutex_;  ///< guards what follows
  LockResult<Lock> result_;
  bool taken_{false};
};

}  // namespace

bool CloseReport::clean() const noexcept {
  return std::all_of(locks.begin(), locks.end(), [](const auto& lock) {
    return lock.second == ReleaseResult::released || lock.second == ReleaseResult::notHeld;
  });
}

LockClient::LockClient(std::shared_ptr<LeaseStore> store, LockClientOptions options, Runtime runtime)
    : impl_{Impl::make(std::move(store), std::move(options), std::move(runtime))} {}

LockClient::~LockClient() {
  if (!impl_) return;
  impl_->isHere() ? impl_->abandon() : leaveToParent(std::move(impl_));
}

LockClient::LockClient(LockClient&&) noexcept = default;

LockClient& LockClient::operator=(LockClient&& other) noexcept {
  LockClient gone{std::move(other)};  // swapped, so that a move to itself changes nothing
  impl_.swap(gone.impl_);
  return *this;
}

LockResult<Lock> LockClient::Impl::acquireNow(const LeaseKey& key, AcquireOptions options,
                                              std::optional<nanoseconds> longest, std::stop_token cancel) {
  if (auto why = whyNotWait(key)) return *std::move(why);
  const auto waiter = std::make_shared<Waiter<LockResult<Lock>>>();
  const SessionPtr session = acquire(
      key, std::move(options), [waiter](LockResult<Lock> result) { waiter->tell(std::move(result)); }, longest);
  if (session) session->cancelOn(std::move(cancel));
  if (!session || !session->patience()) return waiter->wait();
  if (common_->clock != systemClock()) {
    if (const auto loop = scheduler()) session->limit(loop);
    return waiter->wait();
  }
  // This thread measures the time, not the scheduler, because the scheduler may itself stand still.
  if (auto answer = waiter->waitFor(*session->patience())) return *std::move(answer);
  session->expire();
  return waiter->wait();
}

LockResult<std::vector<Lock>> LockClient::Impl::acquireEach(const std::vector<LeaseKey>& sorted,
                                                            const AcquireOptions& options) {
  const Instant from = common_->clock->now();
  const auto left = [&]() -> std::optional<nanoseconds> {
    if (!options.waitFor) return std::nullopt;
    const milliseconds together = *options.waitFor == milliseconds{0} ? longestLook : *options.waitFor;
    return saturating::in<nanoseconds>(together) - elapsedForHolder(from, common_->clock->now());
  };
  std::vector<Lock> won;
  std::stop_source loss;  // of any that is won
  std::list<std::stop_callback<std::function<void()>>> ends;
  for (const LeaseKey& key : sorted) {
    const auto next = won.empty() ? std::optional{options} : optionsForNext(options, left());
    LockResult<Lock> lock = next ? acquireNow(key, *next, left(), loss.get_token()) : noTimeLeft(key);
    auto failed = lock.has_error() ? std::optional{lock.error()} : std::nullopt;
    if (!failed) won.push_back(*std::move(lock));
    // It may be why the wait failed, and tells more. A close of the client ends both.
    auto lost = lossAmong(won);
    if (lost && !(failed && lost->reason == RevokeReason::stopped)) failed = std::move(lost);
    if (failed) {
      const auto lease = saturating::in<nanoseconds>(options.lease.value_or(options_.lease.duration));
      const nanoseconds usual = saturating::sum(lease, nanoseconds{std::chrono::seconds{1}});
      const nanoseconds rest =
          saturating::sum(std::max(left().value_or(usual), nanoseconds{0}), nanoseconds{answerGrace});
      return giveBack(std::move(won), *std::move(failed), std::min(rest, usual));
    }
    ends.emplace_back(won.back().stopToken(), [&loss] { loss.request_stop(); });
  }
  return won;
}

LockResult<Lock> LockClient::acquire(const LeaseKey& key, AcquireOptions options) {
  return impl_->acquireNow(key, std::move(options));
}

LockResult<Lock> LockClient::tryAcquire(const LeaseKey& key, AcquireOptions options) {
  options.waitFor = milliseconds{0};
  return acquire(key, std::move(options));
}

void LockClient::acquireAsync(const LeaseKey& key, AcquireOptions options, std::function<void(LockResult<Lock>)> done,
                              std::stop_token cancel) {
  const std::shared_ptr<Impl> impl = impl_;  // `done` may destroy this client
  if (!impl->isHere()) return static_cast<void>(impl->acquire(key, std::move(options), std::move(done)));
  const std::shared_ptr<LockSession> session = impl->acquire(key, std::move(options), impl->onLane(std::move(done)));
  if (!session) return;
  if (const auto loop = impl->scheduler()) session->limit(loop);
  session->cancelOn(std::move(cancel));
}

/// On a lane of its own: a lock that is won while another one's callback works must not wait for it.
LockSession::Acquired LockClient::Impl::onLane(std::function<void(LockResult<Lock>)> done) {
  const auto own = std::make_shared<CallbackLane>(common_->executor);
  {
    const std::lock_guard lock{mutex_};
    lanes_.add(own);
  }
  return [lane = own, common = common_, done = std::move(done)](LockResult<Lock> result) {
    const auto lease = result ? std::optional{result->lease()} : std::nullopt;
    const auto answer = std::make_shared<AsyncAnswer>(std::move(result));
    lane->post([answer, common, done] {
      const auto what = whatThrown([&] { done(answer->take()); });
      if (what) common->logger.log(LogLevel::error, "acquireAsync's callback threw: " + *what);
    });
    if (lease && common->callbacks && common->callbacks->isShort()) AsyncAnswer::expect(answer, lane, common, *lease);
  };
}

LockResult<std::vector<Lock>> LockClient::acquireAll(std::vector<LeaseKey> keys, const AcquireOptions& options) {
  std::vector<LeaseKey> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
    return invalidOptionsError(*twice, {{"keys", "name this key twice; name each once"}});
  }
  auto won = impl_->acquireEach(sorted, options);
  if (won.has_error()) return won;
  const auto place = [&](const Lock& lock) { return std::find(keys.begin(), keys.end(), lock.key()); };
  std::sort(won->begin(), won->end(), [&](const Lock& a, const Lock& b) { return place(a) < place(b); });
  return won;
}

bool LockClient::holds(const LeaseKey& key) const { return impl_->holds(key); }

std::vector<LeaseKey> LockClient::held() const { return impl_->held(); }

LockResult<LeaseView> LockClient::peek(const LeaseKey& key) {
  if (auto why = impl_->whyNotWait(key)) return *std::move(why);
  return impl_->peek(key);
}

LockResult<std::vector<LeaseView>> LockClient::list(const std::string& prefix) {
  if (auto why = impl_->whyNotWait(LeaseKey{prefix})) return *std::move(why);
  return impl_->list(prefix);
}

LockResult<void> LockClient::scan(const std::string& prefix, const std::function<bool(const LeaseView&)>& each) {
  if (auto why = impl_->whyNotWait(LeaseKey{prefix})) return *std::move(why);
  return impl_->scan(prefix, each);
}

CloseReport LockClient::close() { return impl_->isHere() ? impl_->close() : CloseReport{}; }

const std::string& LockClient::candidate() const noexcept { return impl_->common().candidate; }

const std::shared_ptr<LeaseStore>& LockClient::store() const noexcept { return impl_->common().store; }

}  // namespace tenure
