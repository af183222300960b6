// The rules of a holder: renew in time, resolve what was not answered, and end the term on time and only once.
#include <algorithm>
#include <iterator>
#include <utility>

#include <tenure/lockcore/candidate_id.hpp>

#include "lease_machine_impl.hpp"

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

constexpr milliseconds leastRequestTime{2};

/// How much too early a heartbeat may be so that near ones of many leases share a wake-up: the time when it is due is
/// rounded down to a multiple of this on the clock of all. Waking up costs more than the heartbeat itself.
nanoseconds slotOf(nanoseconds heartbeat) { return heartbeat / 32; }

/// elapsedForHolder() by the slower of its two measures. A right that is to end `d` after `to` ends, counted from
/// `from`, after this and `d`: whichever measure then goes ahead has counted at least this much before.
nanoseconds surelyCounted(const Instant& from, const Instant& to) {
  const nanoseconds boot = to.boottime - from.boottime;
  const nanoseconds suspended = boot - (to.monotonic - from.monotonic);
  return std::min(boot, (to.raw - from.raw) + suspended);
}

}  // namespace

/// Called with the answer to the acquiring write, or with its proof by read-back. The right counts from before the
/// request was sent; an answer that comes after its end makes no term.
void LeaseMachine::Impl::becomeLeader(const Instant& now, const Pending& won, FencingToken token) {
  learnToken(token);
  ownToken_ = FencingToken{};
  statedLease_ = won.right.lease;
  version_ = won.version;
  openCreations_ -= won.creates ? 1 : 0;
  pending_.clear();
  term_ = {won.sentAt, won.right.leadsFor, won.right.validFor, token};
  acquiredAtMillis_ = options_.displayClock != nullptr ? options_.displayClock() : 0;
  beginTurn(now, token);
  if (stopping_) return beginRelease(now);
  if (!term_.leadsAt(now)) {
    endTerm(now, nanoseconds{0});
    return;
  }
  state_ = LeaseState::leading;
  observation_.forget();
  lostRaces_ = 0;
  acquireFailures_ = 0;
  renewFailures_ = 0;
  retryAfter_ = nanoseconds{0};
  readBack_ = false;
  lossHinted_ = false;
  doubt_ = false;
  doubtCause_.reset();
  wanted_.reset();
  overdueWhenWon_ = std::max(-heartbeatDueIn(now), nanoseconds{0});
  workRunning_ = true;
  progressAt_ = now;
  lastStep_ = now;
  ++terms_;
  follow(std::nullopt);
  publish(term_);
  setLeader(now, LeaderInfo{options_.holder, token, true});
  actions_.push_back(action::Elected{token, options_.oneTerm ? takePayload() : nullptr});
}

nanoseconds LeaseMachine::Impl::rightLeft(const Instant& now) const {
  const nanoseconds right = state_ == LeaseState::draining ? term_.validFor : term_.leadsFor;
  return right - elapsedForHolder(term_.anchor, now);
}

bool LeaseMachine::Impl::progressMissing(const Instant& now) const {
  const auto timeout = options_.timing.progressTimeout();
  return timeout && state_ == LeaseState::leading && elapsedForHolder(progressAt_, now) > *timeout;
}

std::string LeaseMachine::Impl::noProgress() const {
  return "the work has reported no progress for " + std::to_string(options_.timing.progressTimeout()->count()) +
         " ms, so the lease is not renewed";
}

/// From a sixteenth of a heartbeat up to a whole one, twice as long after each failure in a row.
nanoseconds LeaseMachine::Impl::grownRetry() {
  const nanoseconds first = nanoseconds{options_.timing.heartbeat()} / 16;
  const nanoseconds grown = first * (1 << renewFailures_);
  renewFailures_ = std::min(renewFailures_ + 1, 4);
  return grown;
}

bool LeaseMachine::Impl::renewalFits(const Instant& now) const { return rightLeft(now) / 2 >= leastRequestTime; }

nanoseconds LeaseMachine::Impl::renewDueIn(const Instant& now) const {
  if (lossHinted_) return nanoseconds{0};
  if (renewFailures_ > 0 || doubt_ || readBack_) return retryAfter_ - elapsedForHolder(retryFrom_, now);
  if (wanted_) return nanoseconds{0};
  if (options_.manualHeartbeat) return nanoseconds::max();
  return heartbeatDueIn(now);
}

nanoseconds LeaseMachine::Impl::heartbeatDueIn(const Instant& now) const {
  const nanoseconds heartbeat = options_.timing.heartbeat();
  const nanoseconds early = (term_.anchor.boottime + heartbeat) % slotOf(heartbeat);
  return heartbeat - early - elapsedForHolder(term_.anchor, now);
}

void LeaseMachine::Impl::advanceHolder(const Instant& now) {
  const bool drainOver = elapsedForHolder(drainFrom_, now) >= options_.timing.drainTimeout();
  if (state_ == LeaseState::draining && drainOver) {
    log(LogLevel::warn, "the work did not end within the drain timeout; the lease is left to expire");
    endTerm(now, rightLeft(now));
    return advance(now);
  }
  advanceRenewal(now);
}

void LeaseMachine::Impl::advanceRenewal(const Instant& now) {
  if (inFlight_ || !renewalFits(now) || renewDueIn(now) > nanoseconds{0}) return;
  if (progressMissing(now)) {
    return renewalFailed(now, {ErrorClass::transient, noProgress()});
  }
  // Shorter than half of what is left, so that a hung request leaves room for another one.
  const nanoseconds timeout = std::min<nanoseconds>(options_.timing.heartbeat(), rightLeft(now) / 2);
  lossHinted_ = false;
  if (readBack_ || mustLook()) return send(now, Request::read, timeout);
  limitRight(now);
  endLateTerm(now);  // one that states a much shorter lease may leave nothing of the right
  if (state_ == LeaseState::leading || state_ == LeaseState::draining) {
    sendWrite(now, Request::renew, timeout, ownVersions());
  }
}

void LeaseMachine::Impl::renewAnswered(const Instant& now, const InFlight& request, const WriteOutcome& outcome) {
  if (state_ != LeaseState::leading && state_ != LeaseState::draining && state_ != LeaseState::releasing) {
    return;  // the term is over; what the record says is found out by the candidate's next read
  }
  if (const auto* applied = std::get_if<Applied>(&outcome)) {
    renewed(now, {request.version, request.sentAt, request.right});
    if (!applied->warning.empty()) log(LogLevel::warn, applied->warning);
    if (applied->stepDownRequested && state_ == LeaseState::leading) {
      beginDrain(now, RevokeReason::steppedDown, "an operator asked this leader to step down");
    }
  } else if (const auto* conflict = std::get_if<Conflict>(&outcome)) {
    renewalConflict(now, request, *conflict);
  } else if (const auto* rejected = std::get_if<Rejected>(&outcome)) {
    renewalFailed(now, rejected->error);
  } else {
    remember(request);
    renewalFailed(now, std::get<Unknown>(outcome).error);
  }
}

/// Before a write that may shorten the lease is sent: from then on a challenger may find the shorter one in the record,
/// and count it from that moment on. A longer one is counted once it is known to be there.
void LeaseMachine::Impl::limitRight(const Instant& now) {
  const nanoseconds spent = surelyCounted(term_.anchor, now);
  const nanoseconds leadsFor = std::min(term_.leadsFor, spent + options_.timing.leadsFor());
  const nanoseconds validFor = std::min(term_.validFor, spent + options_.timing.validFor());
  if (leadsFor == term_.leadsFor && validFor == term_.validFor) return;
  term_.leadsFor = leadsFor;
  term_.validFor = validFor;
  publish(term_);
}

/// What a look at the record proves that shows `landed` there. A renewal of `later` may have arrived at any time since
/// the look was asked for, and if it states a shorter lease, a challenger counts that one from then on. Where the
/// right of before reaches further it stays: it has been limited by each renewal that was sent.
LeaseMachine::Impl::Pending LeaseMachine::Impl::provenBy(const Instant& askedAt, const Pending& landed,
                                                         const std::vector<Pending>& later) const {
  Pending proven = landed;
  const nanoseconds spent = surelyCounted(landed.sentAt, askedAt);
  for (const Pending& other : later) {
    proven.right.leadsFor = std::min(proven.right.leadsFor, spent + other.right.leadsFor);
    proven.right.validFor = std::min(proven.right.validFor, spent + other.right.validFor);
  }
  const nanoseconds ahead = elapsedForHolder(term_.anchor, proven.sentAt);
  if (proven.right.validFor + ahead >= term_.validFor) return proven;
  proven.sentAt = term_.anchor;
  proven.right.leadsFor = term_.leadsFor;
  proven.right.validFor = term_.validFor;
  return proven;
}

/// `proven` is what the record has now: acknowledged, or shown by a read-back.
void LeaseMachine::Impl::renewed(const Instant& now, const Pending& proven) {
  version_ = proven.version;
  statedLease_ = std::max(statedLease_, proven.right.lease);
  pending_.clear();
  renewFailures_ = 0;
  doubtCause_.reset();
  readBack_ = false;
  retryAfter_ = nanoseconds{0};
  if (!options_.manualHeartbeat) {
    lag_.last = std::max(-heartbeatDueIn(now) - std::exchange(overdueWhenWon_, nanoseconds{0}), nanoseconds{0});
    lag_.worst = std::max(lag_.worst, lag_.last);
  }
  term_.anchor = proven.sentAt;
  term_.validFor = proven.right.validFor;
  if (state_ == LeaseState::leading) term_.leadsFor = proven.right.leadsFor;
  ticketInRecord_ = proven.right.ticket;
  if (wanted_ && wanted_->ticket <= ticketInRecord_ && state_ != LeaseState::releasing) wanted_.reset();
  const bool afterDoubt = std::exchange(doubt_, false);
  if (state_ == LeaseState::releasing) return;
  endedByReport_ = false;
  publish(term_);
  if (state_ != LeaseState::leading) return;
  setLeader(now, leader_);
  actions_.push_back(action::Renewed{term_.token, afterDoubt, ticketInRecord_});
}

void LeaseMachine::Impl::renewalFailed(const Instant& now, const StoreError& error) {
  noteError(now, error);
  // A refusal explains the end of a term better than the time-out that came after it.
  if (!doubtCause_ || !mayPass(error) || mayPass(*doubtCause_)) doubtCause_ = error;
  retryFrom_ = now;
  // Sooner as the end comes near, but not in ever smaller steps: a store in trouble may have holders by the thousand.
  const nanoseconds least = std::max<nanoseconds>(options_.timing.heartbeat() / 16, leastRetry);
  const nanoseconds grown = grownRetry();
  retryAfter_ = std::max(jittered(std::min(grown, rightLeft(now) / 4)), least);
  // What waits for people is asked about as often as candidates ask, and a few times more before the end.
  if (!mayPass(error)) {
    const nanoseconds heartbeat = options_.timing.heartbeat();
    retryAfter_ = std::clamp(rightLeft(now) / 2, heartbeat / 4, heartbeat);
  }
  if (state_ != LeaseState::leading || std::exchange(doubt_, true)) return;
  actions_.push_back(action::InDoubt{error, rightLeft(now)});
}

void LeaseMachine::Impl::renewalConflict(const Instant& now, const InFlight& request, const Conflict& conflict) {
  remember(request);
  if (state_ == LeaseState::releasing) return;  // the release itself will show who owns the record
  if (conflict.current) return judgeOwnRecord(now, request.sentAt, *conflict.current);
  readBack_ = true;
  retryFrom_ = now;
  retryAfter_ = nanoseconds{0};
}

/// The record as it really is, while this candidate holds a term; it was asked for at `askedAt`.
void LeaseMachine::Impl::judgeOwnRecord(const Instant& now, const Instant& askedAt,
                                        const std::optional<LeaseRecord>& current) {
  if (current) learnToken(current->token);
  if (!current || current->vanished) {
    return revokeLost(now, RevokeReason::recordMissing, "the record is gone from the store");
  }
  if (!isOwn(*current)) {
    revokeLost(now, RevokeReason::lost, "the record now belongs to " + personOf(current->holder));
    return observe(now, current, false);
  }
  if (current->released) return revokeLost(now, RevokeReason::lost, "somebody marked the record as released");
  if (const Pending* landed = findPending(current->version)) {
    // Renewals sent after that one may still arrive; those before it cannot, because their conditions do not name it.
    std::vector<Pending> later(std::next(pending_.begin(), landed - pending_.data() + 1), pending_.end());
    renewed(now, provenBy(askedAt, *landed, later));
    pending_ = std::move(later);
    return;
  }
  if (current->version == version_) {
    // None of the unanswered renewals has arrived. They still may.
    const bool known = renewFailures_ > 0 && lastError_;
    renewalFailed(now, known ? *lastError_ : StoreError{ErrorClass::transient, "the renewal did not arrive"});
    for (Pending& unanswered : pending_) unanswered.lookedFor = true;
    return;
  }
  revokeLost(now, RevokeReason::lost,
             "the record has a version that this process did not write; was an old copy of the store put back, or this "
             "machine cloned?");
}

void LeaseMachine::Impl::revokeExpired(const Instant& now) {
  const nanoseconds silence = elapsedForHolder(lastStep_, now);
  // While it leads it is stepped at least at every heartbeat; a gap far beyond means that the process did not run.
  const bool paused = silence > options_.timing.heartbeat() + options_.timing.leadsFor() / 4;
  const std::string millis = std::to_string(silence / milliseconds{1});
  const bool unreachable = renewFailures_ > 0 || (inFlight_ && !paused);
  if (progressMissing(now)) {
    announceRevoked(RevokeReason::expired, noProgress());
  } else if (options_.manualHeartbeat && !wanted_) {
    announceRevoked(RevokeReason::expired, "nobody asked for a renewal in time, and the heartbeat is manual");
  } else if (paused) {
    announceRevoked(RevokeReason::expired, "this process did not run for " + millis + " ms", true);
  } else if (unreachable) {
    announceRevoked(RevokeReason::storeUnreachable,
                    doubtCause_ ? doubtCause_->message : std::string{"the renewal was not answered in time"});
  } else {
    announceRevoked(RevokeReason::expired, "the renewal came too late");
  }
  endTerm(now, term_.validFor);
}

void LeaseMachine::Impl::revokeLost(const Instant& now, RevokeReason reason, const std::string& detail) {
  // Only then: after any other end a clone of this machine may go on with the term for as long as it lives. Here it can
  // only if it renewed since this candidate's last heartbeat, and its record was deleted before this one.
  if (reason == RevokeReason::recordMissing) ownToken_ = term_.token;
  if (state_ == LeaseState::leading) {
    announceRevoked(reason, detail);
  } else {
    log(LogLevel::warn, "the lease was lost while the work was ending: " + detail);
  }
  endTerm(now, nanoseconds{0});
}

/// Leadership ends for isLeader() before anybody is told of it.
void LeaseMachine::Impl::announceRevoked(RevokeReason reason, std::string detail, bool unstepped) {
  TermState over = term_;
  over.leadsFor = nanoseconds{0};
  if (reason == RevokeReason::lost || reason == RevokeReason::recordMissing) over.validFor = nanoseconds{0};
  publish(over);
  actions_.push_back(action::Revoked{reason, std::move(detail), term_.token, unstepped});
}

void LeaseMachine::Impl::beginDrain(const Instant& now, RevokeReason reason, const std::string& detail) {
  state_ = LeaseState::draining;
  doubt_ = false;
  drainFrom_ = now;
  announceRevoked(reason, detail);
  term_.leadsFor = nanoseconds{0};
}

/// From holder back to candidate, without a release. `stillValid`: how long the lease may last; the work may use it up.
/// A term that was being given up politely is given up, also if it could not be released: others come first, for one
/// lease from when it becomes free. The next candidacy of a key knows nothing of work that goes on, as this one would:
/// so it does not know the record as its own either, and waits for the lease as anybody does.
void LeaseMachine::Impl::endTerm(const Instant& now, Nanos stillValid) {
  const Nanos untilFree = std::max(stillValid, Nanos{0});
  const bool undrained = state_ == LeaseState::draining && stillValid > Nanos{0};
  const Nanos cooldown = state_ == LeaseState::draining ? options_.timing.duration() + untilFree : Nanos{0};
  const bool windsUp = options_.oneTerm && stillValid > Nanos{0};
  if (windsUp) observation_.leave(term_.anchor, term_.validFor);
  if (stillValid <= nanoseconds{0}) publish(TermState{});
  endTurn(now);
  term_ = TermState{};
  version_ = RecordVersion{};
  pending_.clear();
  doubt_ = false;
  renewFailures_ = 0;
  inFlight_.reset();
  observation_.forget();
  wanted_.reset();
  if (options_.oneTerm && undrained) sentVersions_.fill({});
  if (options_.oneTerm) return finish(undrained ? ReleaseResult::notDrained : ReleaseResult::notHeld);
  becomeCandidate(now, cooldown);
  if (!stopping_) drainFrom_ = now;
}

}  // namespace tenure
