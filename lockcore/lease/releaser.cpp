#include "releaser.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

constexpr std::string_view mayStillArrive =
    "an acquisition was not answered and may still arrive; the lease expires if it does";

}  // namespace

void Releaser::enter(const Instant& now) {
  from_ = now;
  retry_.hurry(now);
  core_.changes.holdNothingBack();
  // From here on nobody may act under this term: the record may become free at any moment.
  core_.publish(TermState{});
}

NextRole Releaser::advance(const Instant& now) {
  if (core_.inFlight) return {};  // a renewal under way comes first, so that the release carries the final version
  const nanoseconds lease = core_.options.timing.duration();
  const nanoseconds spent = elapsedForHolder(from_, now);
  if (spent >= lease) {
    core_.log(LogLevel::warn, "the release was not acknowledged; the lease expires if it did not arrive");
    return released(now, ReleaseResult::unknown);
  }
  if (retry_.dueIn(now) > nanoseconds{0}) return {};
  WriteRequest write = core_.draft(WriteRequest::Purpose::release, term_.right.token, term_.versions());
  write.record.released = true;
  if (term_.successor) write.record.successor = {*term_.successor, core_.options.timing.heartbeat()};
  write.removes = core_.removes;
  core_.changes.putInto(write);
  const nanoseconds timeout = std::max<nanoseconds>((lease - spent) / 2, milliseconds{2});
  core_.sendWrite(now, RequestKind::release, timeout, std::move(write));
  return {};
}

std::optional<nanoseconds> Releaser::untilWakeup(const Instant& now) const {
  if (core_.inFlight) return std::nullopt;
  return retry_.dueIn(now);
}

/// The answer to a read that another role sent. The answer to the release shows what the record is; if there is none,
/// the token seen here still counts (I7).
NextRole Releaser::handle(const Instant& /*now*/, const ReadAnswer& answer) {
  if (answer.outcome && *answer.outcome) core_.tokens.learn((*answer.outcome)->token);
  return {};
}

NextRole Releaser::handle(const Instant& now, const WriteAnswer& answer) {
  if (answer.request.kind == RequestKind::release) return releaseAnswered(now, answer.request, answer.outcome);
  renewAnswered(now, answer.request, answer.outcome);
  return {};
}

/// The answer to a renewal that was under way when the work ended.
void Releaser::renewAnswered(const Instant& now, const RequestInFlight& request, const WriteOutcome& outcome) {
  if (const auto* applied = std::get_if<Applied>(&outcome)) {
    term_.renew(core_, now, request.arrived());
    core_.answerRenews(request.right);
    retry_ = Retry{};
    if (!applied->warning.empty()) core_.log(LogLevel::warn, applied->warning);
  } else if (std::holds_alternative<Conflict>(outcome)) {
    term_.unanswered.add(request.unanswered());  // the release itself will show who owns the record
  } else if (const auto* rejected = std::get_if<Rejected>(&outcome)) {
    if (leavesOutData(now, request, rejected->error)) return;
    renewalFailed(now, rejected->error);
  } else {
    term_.unanswered.add(request.unanswered());
    renewalFailed(now, std::get<Unknown>(outcome).error);
  }
}

NextRole Releaser::releaseAnswered(const Instant& now, const RequestInFlight& request, const WriteOutcome& outcome) {
  if (const auto* applied = std::get_if<Applied>(&outcome)) return releaseApplied(now, request, *applied);
  if (const auto* conflict = std::get_if<Conflict>(&outcome)) return releaseConflict(now, *conflict);
  if (const auto* rejected = std::get_if<Rejected>(&outcome)) {
    if (!leavesOutData(now, request, rejected->error)) releaseFailed(now, rejected->error);
    return {};
  }
  // If the list is full, the next release need not accept the version of this one: if this one arrived, the record is
  // released.
  if (term_.unanswered.namesAll()) term_.unanswered.add(request.unanswered());
  releaseFailed(now, std::get<Unknown>(outcome).error);
  return {};
}

/// What a request to step down has left in the record is not known here: it may name a successor.
NextRole Releaser::releaseApplied(const Instant& now, const RequestInFlight& request, const Applied& applied) {
  const bool mayComeBack = core_.removes && core_.known.openCreations > 0;
  if (mayComeBack) core_.log(LogLevel::warn, std::string{mayStillArrive});
  std::optional<LeaseRecord> left;
  if (!core_.removes) {
    // Beside data that the release leaves out, an earlier write that was not answered may have brought them.
    if (!request.right.leavesOut || term_.unanswered.empty()) core_.answerRenews(request.right);
    left = core_.ownRecord(request.version, term_.right.token);
    left->released = true;
  }
  NextRole next = released(now, mayComeBack ? ReleaseResult::unknown : ReleaseResult::released);
  if (core_.options.oneTerm && !applied.stepDownRequested) {
    core_.known.observation.confirm(now, left, true);
    // The payload of an acquisition that nobody answered is not known: it merges with what was there before it.
    core_.known.asReleased = !term_.isNone() && !core_.changes.hasPayload();
  }
  return next;
}

/// Either nothing of ours is in the record any more, or an unanswered release has arrived after all.
NextRole Releaser::releaseConflict(const Instant& now, const Conflict& conflict) {
  const bool mayArrive = acquisitionMayStillArrive(conflict);
  // So that the next candidacy of this process gets a higher token (I7).
  if (conflict.current && *conflict.current) core_.tokens.learn((*conflict.current)->token);
  if (mayArrive) {
    core_.log(LogLevel::warn, std::string{mayStillArrive});
    return released(now, ReleaseResult::unknown);
  }
  // The store cannot tell. If the condition named every version that we may have left, the record is not ours.
  if (!conflict.current) {
    return released(now, term_.unanswered.namesAll() ? ReleaseResult::notHeld : ReleaseResult::unknown);
  }
  const std::optional<LeaseRecord>& current = *conflict.current;
  const bool own = current && core_.isOwn(*current);
  if (own && !current->released) {
    if (const UnansweredWrite* late = term_.unanswered.find(current->version)) {
      releaseAgain(now, *late);
      return {};
    }
  }
  const bool marked = own && current->released;
  if (marked && core_.changes.areIn(*current)) {
    core_.answerRenews(core_.changes.ticket(), action::Recorded::Outcome::recorded);
  }
  const bool arrived = marked || (core_.removes && !current);
  return released(now, arrived ? ReleaseResult::released : ReleaseResult::notHeld, &current);
}

bool Releaser::leavesOutData(const Instant& now, const RequestInFlight& request, const StoreError& error) {
  if (!core_.leaveOutData(now, request.right, error)) return false;
  core_.changes.holdNothingBack();
  retry_.hurry(now);
  return true;
}

void Releaser::renewalFailed(const Instant& now, const StoreError& error) {
  core_.noteError(now, error);
  retry_.afterFailedRenewal(core_, now, error, term_.leadsLeft(now));
}

void Releaser::releaseFailed(const Instant& now, const StoreError& error) {
  core_.noteError(now, error);
  retry_.afterFailedRelease(core_, now, error);
}

/// Concerns an acquisition that was not answered. It arrives only if the record is as it was observed; the record still
/// is, or can be so again (or the store does not say). The record may also look like our own release of the term
/// before.
bool Releaser::acquisitionMayStillArrive(const Conflict& conflict) const {
  const bool candidate = term_.isNone();
  const int openCreations = core_.known.openCreations;
  if (!candidate && openCreations == 0) return false;
  if (!conflict.current) return true;
  const std::optional<LeaseRecord>& current = *conflict.current;
  // Other clients release by deleting. Then an acquisition conditioned on the absence of the record succeeds after all.
  const bool mayBeAbsent = !current || current->vanished || current->token.isNone();
  if (openCreations > 0 && mayBeAbsent) return true;
  // Whatever was read since: an acquisition that had arrived would have raised the token.
  const bool ofEarlierTerm =
      current && core_.isOwn(*current) && current->released && current->token <= core_.tokens.known;
  if (candidate && ofEarlierTerm) return true;
  return candidate && current && core_.known.observation.expected() == std::vector{current->version};
}

/// The record is ours, by a renewal that was too old for the condition to name it.
void Releaser::releaseAgain(const Instant& now, const UnansweredWrite& late) {
  core_.answerRenews(late.right);
  term_.version = late.version;
  term_.unanswered = term_.unanswered.after(late);
  retry_.hurry(now);
}

/// `found`: the record, if the answer shows it.
NextRole Releaser::released(const Instant& now, ReleaseResult result, const std::optional<LeaseRecord>* found) {
  core_.closeTerm(now, term_.right.token, found);
  core_.setLeader(now, std::nullopt);
  if (core_.stopping || core_.options.oneTerm) return {next::Stop{result}};
  // Stepping down means that another candidate gets the lease: this one does not compete for one lease duration.
  return {next::Challenge{core_.options.timing.duration(), found}};
}

}  // namespace tenure
