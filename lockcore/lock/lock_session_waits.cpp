// How the wait for an acquisition ends, whatever the store and the scheduler do.
#include <algorithm>
#include <utility>

#include "lock_session.hpp"
#include "lockcore/port/lock_errors.hpp"

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

void LockSession::cancel(LockErrc why) {
  const Acquired tell = abandon(why);
  if (!tell) return;
  tell(error(why, "was cancelled before it was decided"));  // first: the session's end is what its client waits for
  static_cast<void>(withdraw());                            // what it leaves is released in the background
}

/// A stop that comes while the session is being destroyed finds nobody.
void LockSession::cancelOn(std::stop_token stop) {
  if (!stop.stop_possible()) return;
  cancellation_.emplace(std::move(stop), [weak = weak_from_this()] {
    if (const auto self = weak.lock(); self && self->isHere()) self->cancel(LockErrc::cancelled);
  });
}

void LockSession::expire() {
  if (const Acquired tell = abandon(LockErrc::timeout)) tell(overdue(withdraw()));
}

/// This comes first, so that a lock that is won from now on is given to nobody: after a caller has a lock, it must not
/// be taken away like this.
LockSession::Acquired LockSession::abandon(LockErrc why) {
  const std::lock_guard lock{mutex_};
  if (acquired_) cancelled_ = why;
  return std::exchange(acquired_, nullptr);
}

/// If the session begins later, it sees that it was cancelled; if it began before, the driver is told here.
bool LockSession::withdraw() { return begun_.load() && driver_->withdraw(); }

bool LockSession::isWanted() const {
  const std::lock_guard lock{mutex_};
  return bool{acquired_};
}

std::optional<nanoseconds> LockSession::patience() const noexcept {
  const std::optional<milliseconds>& wait = request_.options.waitFor;
  if (!wait) return std::nullopt;
  const nanoseconds usual = *wait > milliseconds{0} ? *wait : longestLook;
  return std::min(usual, request_.longest.value_or(usual)) + answerGrace;
}

void LockSession::limit(const std::shared_ptr<Scheduler>& scheduler) {
  if (!patience()) return;
  scheduler->post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && self->isWanted()) self->setLimit(*self->patience() - elapsedForHolder(self->madeAt_, self->now()));
  });
}

void LockSession::setLimit(nanoseconds left) {
  const auto scheduler = common_->scheduler.lock();
  if (!scheduler) return;
  limit_ = scheduler->schedule(left, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->limit_.reset();
    self->expire();
  });
}

void LockSession::dropLimit() {
  const auto timer = std::exchange(limit_, std::nullopt);
  if (const auto scheduler = timer ? common_->scheduler.lock() : nullptr) scheduler->cancel(*timer);
}

/// The wait is over, and the machine has not said why: it has no answer, or could not run.
LockError LockSession::overdue(bool open) const {
  if (open) return unknownError();
  if (!begun_.load()) return error(LockErrc::timeout, "is still being released by this client; try again");
  const LeaseStatus seen = driver_->status();
  const bool oneLook = request_.options.waitFor == milliseconds{0};
  if (seen.lastError) return storeError(key(), *seen.lastError);
  if (seen.leader && !oneLook) {
    return error(LockErrc::timeout, "is held by " + seen.leader->holder + ", after a wait of " +
                                        std::to_string(request_.options.waitFor->count()) + " ms");
  }
  return error(LockErrc::storeUnavailable, "was not granted: the store did not answer in time; try again");
}

LockError LockSession::unknownError() const {
  return error(LockErrc::unknown,
               "was not granted in time, and it is not known whether an acquisition arrived; if one did, the lock is "
               "released in the background, or ends with its lease");
}

}  // namespace tenure
