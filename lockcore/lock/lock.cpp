#include <utility>

#include <tenure/lockcore/lock.hpp>

#include "lock_session.hpp"
#include "lockcore/port/lock_errors.hpp"
#include "lockcore/runtime/waiter.hpp"

namespace tenure {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// For handles that hold nothing.
const LeaseKey noKey{};
const std::map<std::string, std::string> noAttributes{};

LockError movedFrom() { return {LockErrc::notHeld, "this Lock was moved from or released; acquire the lock again"}; }

LockResult<void> renewed(const Lock& lock, LockSession& session, RenewOptions options, milliseconds longer) {
  if (session.isOnScheduler()) return session.error(LockErrc::wouldBlock, "cannot be waited for on this thread");
  const auto waiter = std::make_shared<Waiter<LockResult<void>>>();
  session.renew(
      std::move(options), [waiter](LockResult<void> result) { waiter->tell(std::move(result)); }, longer);
  // The answer, or the loss, comes within this time, unless the scheduler stands still.
  constexpr milliseconds grace{25};
  for (;;) {
    const nanoseconds left = lock.remaining();
    if (auto answer = waiter->waitFor(left + grace)) return *std::move(answer);
    if (left == nanoseconds{0}) {
      return session.error(LockErrc::lost, "was not renewed in time: its scheduler did not run; acquire it again");
    }
  }
}

}  // namespace

Lock::Lock(std::shared_ptr<LockSession> session) noexcept : session_{std::move(session)} {}

Lock::~Lock() { letGo(); }

Lock::Lock(Lock&& other) noexcept
    : session_{std::move(other.session_)},
      released_{other.released_.load()},
      leftToOthers_{other.leftToOthers_.load()} {}

Lock& Lock::operator=(Lock&& other) noexcept {
  if (this == &other) return *this;
  letGo();
  session_ = std::move(other.session_);
  released_.store(other.released_.load());
  leftToOthers_.store(other.leftToOthers_.load());
  return *this;
}

void Lock::letGo() noexcept {
  if (!session_) return;
  if (session_->isHere()) {
    release();
    return session_.reset();
  }
  leaveToParent(std::move(session_));
}

FencingToken Lock::fencingToken() const noexcept { return session_ ? session_->token() : FencingToken{}; }

bool Lock::isHeld() const noexcept { return isHandle() && session_->isHeld(); }

bool Lock::isValid() const noexcept {
  if (!isHandle()) return false;
  const TermState state = session_->state();  // read before the clock, so that a pause in between shows
  return state.validAt(session_->now());
}

nanoseconds Lock::remaining() const noexcept {
  if (!isHeld()) return nanoseconds{0};
  const TermState state = session_->state();
  return state.remainingAt(session_->now());
}

std::stop_token Lock::stopToken() const noexcept {
  if (session_) return session_->stopToken();
  std::stop_source over;
  over.request_stop();
  return over.get_token();
}

void Lock::onLost(std::function<void(const TermEnd&)> callback) {
  if (isHandle() && session_->isHere()) session_->onLost(std::move(callback));
}

LockResult<void> Lock::onExpiring(milliseconds before, std::function<void(nanoseconds)> callback) {
  if (!isHandle()) return movedFrom();
  if (!session_->isHere()) return session_->error(LockErrc::forked, "belongs to the parent process");
  return session_->onExpiring(before, std::move(callback));
}

std::optional<TermEnd> Lock::loss() const { return session_ && session_->isHere() ? session_->loss() : std::nullopt; }

LockResult<void> Lock::renew(RenewOptions options) {
  if (!isHandle()) return movedFrom();
  if (!session_->isHere()) return session_->error(LockErrc::forked, "belongs to the parent process");
  return renewed(*this, *session_, std::move(options), milliseconds{0});
}

void Lock::renewAsync(RenewOptions options, std::function<void(LockResult<void>)> done) {
  if (!session_) return done(movedFrom());
  if (!session_->isHere()) return done(session_->error(LockErrc::forked, "belongs to the parent process"));
  const auto told = [session = session_, done = std::move(done)](const LockResult<void>& result) {
    session->tell("renewAsync's callback", [done, result] { done(result); });
  };
  if (!isHandle()) return told(movedFrom());
  session_->renew(std::move(options), told);
}

LockResult<void> Lock::extend(milliseconds by) {
  if (!isHandle()) return movedFrom();
  if (!session_->isHere()) return session_->error(LockErrc::forked, "belongs to the parent process");
  if (by <= milliseconds{0} || by > maxLeaseDuration) {
    return invalidOptionsError(key(), {{"by", std::to_string(by.count()) + "ms is out of range; allowed is 1ms to " +
                                                  std::to_string(maxLeaseDuration.count()) + "ms"}});
  }
  return renewed(*this, *session_, {}, by);
}

LockResult<void> Lock::ensure(milliseconds least) {
  if (!isHandle()) return movedFrom();
  if (!session_->isHere()) return session_->error(LockErrc::forked, "belongs to the parent process");
  const milliseconds most = session_->timing().leadsFor();
  if (least > most) {
    return invalidOptionsError(
        key(), {{"least", std::to_string(least.count()) + "ms is more than the " + std::to_string(most.count()) +
                              "ms that a lease of this length can give; extend() it"}});
  }
  if (isHeld() && remaining() >= least) return {};
  if (auto renewed = renew(); renewed.has_error()) return renewed;
  if (remaining() >= least) return {};
  return session_->error(LockErrc::storeUnavailable,
                         "was renewed, but the store took so long that less time is left than was asked for");
}

std::string Lock::data() const { return session_ && session_->isHere() ? session_->data() : std::string{}; }

const std::map<std::string, std::string>& Lock::attributes() const noexcept {
  return session_ ? session_->attributes() : noAttributes;
}

milliseconds Lock::lease() const noexcept { return session_ ? session_->lease() : milliseconds{0}; }

const LeaseKey& Lock::key() const noexcept { return session_ ? session_->key() : noKey; }

const std::string& Lock::leaseName() const noexcept { return key().name; }

const std::string& Lock::holder() const noexcept { return session_ ? session_->holder() : noKey.name; }

LockResult<Lock> Lock::share() const {
  if (!isHandle()) return movedFrom();
  if (!session_->isHere()) return session_->error(LockErrc::forked, "belongs to the parent process");
  if (!session_->share()) return session_->lostError();
  return Lock{session_};
}

ReleaseResult Lock::release(const ReleaseOptions& options) noexcept {
  if (!session_ || !session_->isHere()) return ReleaseResult::notHeld;
  if (released_.exchange(true)) {
    return leftToOthers_.load() ? ReleaseResult::shared : session_->result().value_or(ReleaseResult::unknown);
  }
  const auto waiter = std::make_shared<Waiter<ReleaseResult>>();
  constexpr std::chrono::milliseconds forEver = std::chrono::hours{24 * 366};
  const auto patience =
      std::min(options.waitFor.value_or(session_->timing().duration() + std::chrono::seconds{1}), forEver);
  if (!session_->letGo(options, [waiter](ReleaseResult result) { waiter->tell(result); })) {
    leftToOthers_.store(true);
    return ReleaseResult::shared;
  }
  if (session_->isOnScheduler()) return session_->result().value_or(ReleaseResult::unknown);
  return waiter->waitFor(patience).value_or(ReleaseResult::unknown);
}

void Lock::releaseAsync(const ReleaseOptions& options, std::function<void(ReleaseResult)> done) {
  if (!session_ || !session_->isHere()) return done(ReleaseResult::notHeld);
  const auto tell = [session = session_, done = std::move(done)](ReleaseResult result) {
    session->tell("releaseAsync's callback", [done, result] { done(result); });
  };
  if (released_.exchange(true)) {
    return tell(leftToOthers_.load() ? ReleaseResult::shared : session_->result().value_or(ReleaseResult::unknown));
  }
  if (session_->letGo(options, tell)) return;
  leftToOthers_.store(true);
  tell(ReleaseResult::shared);
}

void Lock::reportStaleToken(FencingToken seen) const {
  if (session_ && session_->isHere()) session_->reportStaleToken(seen);
}

}  // namespace tenure
