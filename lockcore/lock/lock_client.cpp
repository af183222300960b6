#include <algorithm>
#include <utility>

#include <tenure/lockcore/lock_client.hpp>

#include "lock_client_impl.hpp"
#include "lockcore/port/lock_errors.hpp"
#include "lockcore/runtime/waiter.hpp"

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

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

LockResult<Lock> LockClient::acquire(const LeaseKey& key, AcquireOptions options) {
  if (auto why = impl_->whyNotWait(key)) return *std::move(why);
  const auto waiter = std::make_shared<Waiter<LockResult<Lock>>>();
  const std::shared_ptr<LockSession> session =
      impl_->acquire(key, std::move(options), [waiter](LockResult<Lock> result) { waiter->tell(std::move(result)); });
  if (!session || !session->patience()) return waiter->wait();
  if (impl_->common().clock != systemClock()) {
    if (const auto loop = impl_->scheduler()) session->limit(loop);
    return waiter->wait();
  }
  // This thread measures the time, not the scheduler, because the scheduler may itself stand still.
  if (auto answer = waiter->waitFor(*session->patience())) return *std::move(answer);
  session->expire();
  return waiter->wait();
}

LockResult<Lock> LockClient::tryAcquire(const LeaseKey& key, AcquireOptions options) {
  options.waitFor = milliseconds{0};
  return acquire(key, std::move(options));
}

void LockClient::acquireAsync(const LeaseKey& key, AcquireOptions options, std::function<void(LockResult<Lock>)> done,
                              std::stop_token cancel) {
  if (!impl_->isHere()) return static_cast<void>(impl_->acquire(key, std::move(options), std::move(done)));
  const std::shared_ptr<LockSession> session = impl_->acquire(key, std::move(options), impl_->onLane(std::move(done)));
  if (!session) return;
  if (const auto loop = impl_->scheduler()) session->limit(loop);
  session->cancelOn(std::move(cancel));
}

LockResult<std::vector<Lock>> LockClient::acquireAll(std::vector<LeaseKey> keys, const AcquireOptions& options) {
  std::vector<LeaseKey> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
    return invalidOptionsError(*twice, {{"keys", "name this key twice; name each once"}});
  }
  const Instant from = impl_->common().clock->now();
  std::vector<Lock> won;  // released from the last to the first if one fails
  for (const LeaseKey& key : sorted) {
    AcquireOptions each = options;
    if (each.waitFor) {
      const nanoseconds left = *options.waitFor - elapsedForHolder(from, impl_->common().clock->now());
      each.waitFor = std::max(std::chrono::duration_cast<milliseconds>(left), milliseconds{0});
    }
    LockResult<Lock> lock = acquire(key, std::move(each));
    if (lock.has_error()) {
      while (!won.empty()) won.pop_back();
      return lock.error();
    }
    won.push_back(*std::move(lock));
  }
  const auto place = [&](const Lock& lock) { return std::find(keys.begin(), keys.end(), lock.key()); };
  std::sort(won.begin(), won.end(), [&](const Lock& a, const Lock& b) { return place(a) < place(b); });
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
