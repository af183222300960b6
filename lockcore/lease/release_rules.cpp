// The rules of letting go: the work has ended, the record is marked as released, retried while it is still ours.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "lease_machine_impl.hpp"

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

constexpr std::string_view mayStillArrive =
    "an acquisition was not answered and may still arrive; the lease expires by itself if it does";

}  // namespace

void LeaseMachine::Impl::beginRelease(const Instant& now) {
  state_ = LeaseState::releasing;
  releaseFrom_ = now;
  retryFrom_ = now;
  retryAfter_ = nanoseconds{0};
  renewFailures_ = 0;
  // From here on nobody may act under this term: the record may become free at any moment.
  publish(TermState{});
}

void LeaseMachine::Impl::advanceRelease(const Instant& now) {
  if (inFlight_) return;  // a renewal under way is awaited, so that the release carries the final version
  const nanoseconds spent = elapsedForHolder(releaseFrom_, now);
  if (spent >= options_.timing.duration()) {
    log(LogLevel::warn, "the release was not acknowledged; the lease expires by itself if it did not arrive");
    return released(now, ReleaseResult::unknown);
  }
  if (elapsedForHolder(retryFrom_, now) < retryAfter_) return;
  const nanoseconds timeout = std::max<nanoseconds>((options_.timing.duration() - spent) / 2, milliseconds{2});
  sendWrite(now, Request::release, timeout, ownVersions());
}

void LeaseMachine::Impl::releaseAnswered(const Instant& now, const InFlight& request, const WriteOutcome& outcome) {
  if (state_ != LeaseState::releasing) return;
  if (std::holds_alternative<Applied>(outcome)) {
    const bool mayComeBack = removes_ && openCreations_ > 0;
    if (mayComeBack) log(LogLevel::warn, std::string{mayStillArrive});
    released(now, mayComeBack ? ReleaseResult::unknown : ReleaseResult::released, request.version);
  } else if (const auto* conflict = std::get_if<Conflict>(&outcome)) {
    releaseConflict(now, *conflict);
  } else if (const auto* rejected = std::get_if<Rejected>(&outcome)) {
    releaseFailed(now, rejected->error);
  } else {
    // Beyond that many it need not be accepted by the next one: if it arrived, the record is released.
    if (namesAllPending()) remember(request);
    releaseFailed(now, std::get<Unknown>(outcome).error);
  }
}

/// Of an acquisition that nobody answered: it waits for the record to be as it was observed, and the record still is,
/// or can be again (or the store does not say). It may also look like a release of ours, that of the term before.
bool LeaseMachine::Impl::acquisitionMayStillArrive(const Conflict& conflict) const {
  const bool candidate = term_.token.isNone();
  if (!candidate && openCreations_ == 0) return false;
  if (!conflict.current) return true;
  const std::optional<LeaseRecord>& current = *conflict.current;
  // A client of another make releases by deleting, and what waits for no record to be there gets its turn after all.
  const bool mayBeAbsent = !current || current->vanished || current->token.isNone();
  if (openCreations_ > 0 && mayBeAbsent) return true;
  return candidate && current && observation_.expected() == std::vector{current->version};
}

/// Of a candidate without a request that may have won: only an older one, which waits for no record to be there, may
/// still arrive.
ReleaseResult LeaseMachine::Impl::nothingToRelease() const {
  return openCreations_ > 0 && observation_.mayVanish() ? ReleaseResult::unknown : ReleaseResult::notHeld;
}

/// The record is ours, by a renewal that was too old to be named in the condition.
void LeaseMachine::Impl::releaseAgain(const Instant& now, const Pending& late) {
  version_ = late.version;
  pending_.erase(pending_.begin(), std::next(pending_.begin(), &late - pending_.data() + 1));
  retryFrom_ = now;
  retryAfter_ = nanoseconds{0};
}

/// Nothing of ours is there any more, or an unanswered release has arrived after all.
void LeaseMachine::Impl::releaseConflict(const Instant& now, const Conflict& conflict) {
  // The next candidacy of this process gets a higher one (I7).
  if (conflict.current && *conflict.current) learnToken((*conflict.current)->token);
  if (acquisitionMayStillArrive(conflict)) {
    log(LogLevel::warn, std::string{mayStillArrive});
    return released(now, ReleaseResult::unknown);
  }
  // If the store cannot tell: with every version that we may have left in the condition, the record is not ours.
  if (!conflict.current) return released(now, namesAllPending() ? ReleaseResult::notHeld : ReleaseResult::unknown);
  const std::optional<LeaseRecord>& current = *conflict.current;
  const bool own = current && isOwn(*current);
  const Pending* late = own && !current->released ? findPending(current->version) : nullptr;
  if (late != nullptr) return releaseAgain(now, *late);
  const bool marked = own && current->released;
  const bool arrived = marked || (removes_ && !current);
  released(now, arrived ? ReleaseResult::released : ReleaseResult::notHeld);
  if (state_ == LeaseState::candidate) observe(now, current, false);
}

void LeaseMachine::Impl::releaseFailed(const Instant& now, const StoreError& error) {
  noteError(now, error);
  retryFrom_ = now;
  const nanoseconds grown = std::max<nanoseconds>(jittered(grownRetry()), leastRetry);
  retryAfter_ = mayPass(error) ? grown : nanoseconds{options_.timing.heartbeat()};
}

/// `left`: the version that the record has by an acknowledged release.
void LeaseMachine::Impl::released(const Instant& now, ReleaseResult result, const std::optional<RecordVersion>& left) {
  std::optional<LeaseRecord> record;
  if (left && !removes_) record = ownRecord(*left, true);
  endTurn(now);
  term_ = TermState{};
  version_ = RecordVersion{};
  pending_.clear();
  renewFailures_ = 0;
  observation_.forget();  // it is older than the term
  if (left && options_.oneTerm) {
    observation_.confirm(now, record, true);
    asReleased_ = !hasPayload_;
  }
  setLeader(now, std::nullopt);
  if (stopping_ || options_.oneTerm) return finish(result);
  // Stepping down means that another one gets it: no competing for one lease.
  becomeCandidate(now, options_.timing.duration());
}

void LeaseMachine::Impl::finish(ReleaseResult result) {
  state_ = LeaseState::stopped;
  inFlight_.reset();
  actions_.push_back(action::FollowHolder{std::nullopt});
  actions_.push_back(action::Stopped{result, options_.oneTerm ? memory() : nullptr});
}

}  // namespace tenure
