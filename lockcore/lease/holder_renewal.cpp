// How a holder renews its lease, and how the answers change its right.
#include <utility>

#include <tenure/lockcore/candidate_id.hpp>

#include "holder.hpp"
#include "renewal_time.hpp"

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

constexpr milliseconds leastRequestTime{2};

}  // namespace

NextRole Holder::advanceRenewal(const Instant& now) {
  if (core_.inFlight || !renewalFits(now) || renewDueIn(now) > nanoseconds{0}) return {};
  lossHinted_ = false;
  if (progressMissing(now)) {
    renewalFailed(now, {ErrorClass::transient, noProgress()});
    return {};
  }
  const nanoseconds timeout = renewalTimeout(core_.options.timing.heartbeat(), rightLeft(now));
  if (!doubts_.readBack && !term_.unanswered.mustLook()) return sendRenewal(now, timeout);
  core_.sendRead(now, timeout, false);
  return {};
}

NextRole Holder::sendRenewal(const Instant& now, nanoseconds timeout) {
  if (term_.limit(now, core_.options.timing)) core_.publish(term_.right);
  NextRole next = checkDeadlines(now);  // a renewal that states a much shorter lease may leave nothing of the right
  if (!next.isStay()) return next;
  // If this renewal arrives, none of those before it has brought the data that it leaves out, and none ever will. If
  // one has, this one conflicts, and the record is read.
  std::vector<RecordVersion> expected = core_.changes.leavesOut() ? std::vector{term_.version} : term_.versions();
  WriteRequest write = core_.draft(WriteRequest::Purpose::renew, term_.right.token, std::move(expected));
  write.lengthens = core_.options.timing.duration() > term_.statedLease;
  core_.changes.putInto(write);
  core_.sendWrite(now, RequestKind::renew, timeout, std::move(write));
  return {};
}

bool Holder::progressMissing(const Instant& now) const {
  const auto timeout = core_.options.timing.progressTimeout();
  return timeout && !draining_ && elapsedForHolder(progressAt_, now) > *timeout;
}

std::string Holder::noProgress() const {
  return "the work has reported no progress for " + std::to_string(core_.options.timing.progressTimeout()->count()) +
         " ms, so the lease is not renewed";
}

bool Holder::renewalFits(const Instant& now) const { return rightLeft(now) / 2 >= leastRequestTime; }

nanoseconds Holder::renewDueIn(const Instant& now) const {
  if (lossHinted_) return nanoseconds{0};
  if (doubts_.any()) return doubts_.retry.dueIn(now);
  if (core_.changes.waiting()) return nanoseconds{0};
  if (core_.options.manualHeartbeat) return nanoseconds::max();
  return term_.heartbeatDueIn(now, core_.options.timing.heartbeat());
}

NextRole Holder::handle(const Instant& now, const ReadAnswer& answer) {
  doubts_.readBack = false;
  if (answer.outcome) return judgeOwnRecord(now, answer.request.sentAt, *answer.outcome);
  renewalFailed(now, answer.outcome.error());
  return {};
}

NextRole Holder::handle(const Instant& now, const WriteAnswer& answer) {
  const RequestInFlight& request = answer.request;
  if (const auto* applied = std::get_if<Applied>(&answer.outcome)) {
    renewed(now, request.arrived());
    if (!applied->warning.empty()) core_.log(LogLevel::warn, applied->warning);
    if (applied->stepDownRequested && !draining_) {
      beginDrain(now, RevokeReason::steppedDown,
                 "an operator, or a candidate with a better priority, asked this leader to step down");
    }
  } else if (const auto* conflict = std::get_if<Conflict>(&answer.outcome)) {
    return renewalConflict(now, request, *conflict);
  } else if (const auto* rejected = std::get_if<Rejected>(&answer.outcome)) {
    if (core_.leaveOutData(now, request.right, rejected->error)) {
      doubts_.retry.hurry(now);
    } else {
      renewalFailed(now, rejected->error);
    }
  } else {
    term_.unanswered.add(request.unanswered());
    renewalFailed(now, std::get<Unknown>(answer.outcome).error);
  }
  return {};
}

/// `proven` is what the record contains now: it was acknowledged, or a read showed it.
void Holder::renewed(const Instant& now, const UnansweredWrite& proven) {
  term_.renew(core_, now, proven);
  if (!draining_) term_.right.leadsFor = proven.right.leadsFor;
  const bool afterDoubt = std::exchange(doubts_, {}).told;
  core_.tokens.endedTerm = false;
  core_.publish(term_.right);
  if (draining_ || proven.right.leavesOut) core_.answerRenews(proven.right);
  core_.changes.written(proven.right);
  if (draining_) return;
  core_.setLeader(now, core_.told.leader);
  static_cast<void>(core_.changes.answer(proven.right.ticket));  // by what follows
  core_.act(action::Renewed{term_.right.token, afterDoubt, proven.right.ticket});
}

void Holder::renewalFailed(const Instant& now, const StoreError& error) {
  core_.noteError(now, error);
  // A rejection explains the end of a term better than the time-out that came after it.
  if (!doubts_.cause || !mayPass(error) || mayPass(*doubts_.cause)) doubts_.cause = error;
  doubts_.retry.afterFailedRenewal(core_, now, error, rightLeft(now));
  if (draining_ || std::exchange(doubts_.told, true)) return;
  core_.act(action::InDoubt{error, rightLeft(now)});
}

NextRole Holder::renewalConflict(const Instant& now, const RequestInFlight& request, const Conflict& conflict) {
  term_.unanswered.add(request.unanswered());
  if (conflict.current) return judgeOwnRecord(now, request.sentAt, *conflict.current);
  doubts_.readBack = true;
  doubts_.retry.hurry(now);
  return {};
}

/// The record as it really is, while this candidate holds a term; the read was sent at `askedAt`.
NextRole Holder::judgeOwnRecord(const Instant& now, const Instant& askedAt, const std::optional<LeaseRecord>& current) {
  if (current) core_.tokens.learn(current->token);
  if (!current || current->vanished) {
    return lose(now, RevokeReason::recordMissing, "the record is gone from the store");
  }
  if (!core_.isOwn(*current)) {
    return lose(now, RevokeReason::lost, "the record now belongs to " + personOf(current->holder), &current);
  }
  if (current->released) return lose(now, RevokeReason::lost, "another process released the record");
  if (const UnansweredWrite* landed = term_.unanswered.find(current->version)) {
    renewalLanded(now, askedAt, *landed);
    return {};
  }
  if (current->version == term_.version) {
    // None of the unanswered renewals has arrived. They may still arrive.
    const bool known = doubts_.retry.failed() && core_.told.error;
    renewalFailed(now, known ? *core_.told.error : StoreError{ErrorClass::transient, "the renewal did not arrive"});
    term_.unanswered.lookedForAll();
    return {};
  }
  return lose(
      now, RevokeReason::lost,
      "the record has a version that this process did not write; was an old copy of the store put back, or this "
      "machine cloned?");
}

/// `landed` is one of the unanswered renewals. Those that were sent after it may still arrive.
void Holder::renewalLanded(const Instant& now, const Instant& askedAt, const UnansweredWrite& landed) {
  UnansweredWrites later = term_.unanswered.after(landed);
  renewed(now, term_.provenBy(askedAt, landed, later));
  term_.unanswered = std::move(later);
}

}  // namespace tenure
