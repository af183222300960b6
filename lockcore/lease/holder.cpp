#include "holder.hpp"

#include <algorithm>
#include <utility>

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

void Holder::enter(const Instant& now, std::shared_ptr<const LeasePayload> payload, TermOrigin origin) {
  core_.known.observation.forget(term_.right.token);
  core_.changes.forget();
  term_.forgiveFirstHeartbeat(now, core_.options.timing.heartbeat());
  core_.work.running = true;
  progressAt_ = now;
  core_.lastStep = now;
  ++core_.told.terms;
  core_.publish(term_.right);
  core_.told.leaderRenews = false;
  core_.setLeader(
      now, LeaderInfo{core_.options.holder, term_.right.token, true, core_.options.address, core_.options.priority});
  core_.act(action::Elected{term_.right.token, std::move(payload), std::move(origin)});
}

NextRole Holder::handle(const Instant& now, const event::StepDown& event) {
  if (draining_) return {};
  if (!event.successor.empty()) term_.successor = std::make_unique<const std::string>(event.successor);
  beginDrain(now, RevokeReason::steppedDown, event.why);
  return {};
}

NextRole Holder::handle(const Instant& now, const event::SetReady& event) {
  if (event.ready || !event.stepsDown) return {};
  return handle(now, event::StepDown{event.why});
}

NextRole Holder::handle(const Instant& now, const event::Stop& /*event*/) {
  if (!draining_) beginDrain(now, RevokeReason::stopped, "the elector was stopped");
  return {};
}

/// The end of what the work did is known only when the work ends, so data are taken until then.
NextRole Holder::handle(const Instant& /*now*/, const event::Renew& event) {
  if (!event.term.isNone() && event.term != term_.right.token) return {};
  if (draining_) {
    if (event.data) core_.changes.ask(event);
    return {};
  }
  if (event.timing) core_.options.timing = *event.timing;
  core_.changes.ask(event);
  return {};
}

/// While the holder leads, callbacks that have returned do not end the term: the work may continue elsewhere until
/// onRevoked.
NextRole Holder::handle(const Instant& /*now*/, const event::WorkEnded& /*event*/) {
  if (!draining_) return {};
  core_.work.running = false;
  return {next::Release{std::move(term_)}};
}

NextRole Holder::handle(const Instant& now, const event::WorkFailed& event) {
  if (!draining_) beginDrain(now, event.reason, event.what);
  if (event.begun) return {};
  return {next::Release{std::move(term_)}};
}

NextRole Holder::handle(const Instant& now, const event::WorkProgressed& event) {
  if (event.ago < elapsedForHolder(progressAt_, now)) progressAt_ = now + -event.ago;
  return {};
}

NextRole Holder::handle(const Instant& /*now*/, const event::StoreHint& event) {
  lossHinted_ = lossHinted_ || (event.isLoss && !core_.options.manualHeartbeat);
  return {};
}

/// A report makes the counter rise with the next term. If a report ends that term too, something invents tokens: one
/// step in each lease is far too slow to bring the counter near its end.
NextRole Holder::handle(const Instant& now, const event::TokenSeen& event) {
  const FencingToken own = term_.right.token;
  if (draining_ || event.token <= own) return {};
  const bool again = std::exchange(core_.tokens.endedTerm, true);
  NextRole next =
      lose(now, RevokeReason::lost,
           "a resource has seen the token " + toString(event.token) + ", higher than this term's " + toString(own));
  auto* challenge = std::get_if<next::Challenge>(&next.role);
  if (!again || challenge == nullptr) return next;
  challenge->cooldown = core_.options.timing.duration();
  core_.log(
      LogLevel::error,
      "a resource has ended several terms in a row, because it reports a higher fencing token: find out what writes "
      "tokens there; this candidate does not compete for " +
          std::to_string(core_.options.timing.duration().count()) + " ms");
  return next;
}

NextRole Holder::checkDeadlines(const Instant& now) {
  if (!draining_ && !term_.right.leadsAt(now)) return expire(now);
  if (draining_ && !term_.right.validAt(now)) {
    core_.log(LogLevel::warn, "the lease ran out while the work was ending");
    return endTerm(now, nanoseconds{0});
  }
  return {};
}

NextRole Holder::advance(const Instant& now) {
  const bool drainOver = elapsedForHolder(core_.work.endsFrom, now) >= core_.options.timing.drainTimeout();
  if (draining_ && drainOver) {
    core_.log(LogLevel::warn, "the work did not end within the drain timeout; the lease is left to expire");
    NextRole next = endTerm(now, rightLeft(now));
    next.actsAtOnce = true;
    return next;
  }
  return advanceRenewal(now);
}

std::optional<nanoseconds> Holder::untilWakeup(const Instant& now) const {
  std::optional<nanoseconds> until = rightLeft(now);
  if (!core_.inFlight && renewalFits(now)) until = earlier(until, renewDueIn(now));
  if (!draining_) return until;
  return earlier(until, core_.options.timing.drainTimeout() - elapsedForHolder(core_.work.endsFrom, now));
}

LeaseState Holder::state() const noexcept { return draining_ ? LeaseState::draining : LeaseState::leading; }

nanoseconds Holder::rightLeft(const Instant& now) const {
  return draining_ ? term_.validLeft(now) : term_.leadsLeft(now);
}

NextRole Holder::expire(const Instant& now) {
  const nanoseconds silence = elapsedForHolder(core_.lastStep, now);
  const LeaseTiming& timing = core_.options.timing;
  // A leading holder is stepped at least at every heartbeat; a much longer gap means that the process did not run.
  const bool paused = silence > timing.heartbeat() + timing.leadsFor() / 4;
  const bool unreachable = doubts_.retry.failed() || (core_.inFlight && !paused);
  if (progressMissing(now)) {
    announceRevoked(RevokeReason::expired, noProgress());
  } else if (core_.options.manualHeartbeat && !core_.changes.waiting()) {
    announceRevoked(RevokeReason::expired, "no renewal was requested in time, and the heartbeat is manual");
  } else if (paused) {
    const std::string millis = std::to_string(silence / milliseconds{1});
    announceRevoked(RevokeReason::expired, "this process did not run for " + millis + " ms", true);
  } else if (unreachable) {
    announceRevoked(RevokeReason::storeUnreachable,
                    doubts_.cause ? doubts_.cause->message : std::string{"the renewal was not answered in time"});
  } else {
    announceRevoked(RevokeReason::expired, "the renewal came too late");
  }
  return endTerm(now, term_.right.validFor);
}

/// `found`: the record that shows the loss, if it belongs to somebody else.
NextRole Holder::lose(const Instant& now, RevokeReason reason, const std::string& detail,
                      const std::optional<LeaseRecord>* found) {
  // Only in this case: after any other end, a clone of this machine may continue the term for as long as the clone
  // lives. Here it can do so only if it renewed after this candidate's last heartbeat, and its record was deleted
  // before this candidate looked.
  if (reason == RevokeReason::recordMissing) core_.tokens.own = term_.right.token;
  if (draining_) {
    core_.log(LogLevel::warn, "the lease was lost while the work was ending: " + detail);
  } else {
    announceRevoked(reason, detail);
  }
  return endTerm(now, nanoseconds{0}, found);
}

/// isLeader() stops being true before anybody is told that leadership has ended.
void Holder::announceRevoked(RevokeReason reason, std::string detail, bool unstepped) {
  TermState over = term_.right;
  over.leadsFor = nanoseconds{0};
  if (reason == RevokeReason::lost || reason == RevokeReason::recordMissing) over.validFor = nanoseconds{0};
  core_.publish(over);
  core_.act(action::Revoked{{reason, std::move(detail), over.token}, unstepped});
}

void Holder::beginDrain(const Instant& now, RevokeReason reason, const std::string& detail) {
  draining_ = true;
  doubts_.told = false;
  core_.work.endsFrom = now;
  announceRevoked(reason, detail);
  term_.right.leadsFor = nanoseconds{0};
}

/// From holder back to candidate, without a release. `stillValid`: how long the lease may still last; the work may use
/// that time. If leadership was being given up voluntarily, it is given up even if the release failed: others come
/// first, until one lease after it becomes free. So they do for a lease after a term whose work has shown no progress:
/// this candidate could otherwise take its own record at once, again and again, and nobody could do the work.
///
/// With OneTerm the machine ends here. The next candidacy for the key would not know that work of this one still runs.
/// So it does not treat the record as its own, and waits for the lease as any other candidate does.
NextRole Holder::endTerm(const Instant& now, nanoseconds stillValid, const std::optional<LeaseRecord>* found) {
  const TermState& right = term_.right;
  const bool mayLast = stillValid > nanoseconds{0};
  const bool undrained = draining_ && mayLast;
  if (!mayLast) core_.publish(TermState{});
  core_.closeTerm(now, right.token, found);
  if (core_.options.oneTerm) {
    if (mayLast) core_.known.observation.leave(right.anchor, right.validFor);
    if (undrained) core_.sentVersions.forget();
    if (found != nullptr) {
      const LeaseRecord& theirs = **found;
      core_.setLeader(now, theirs.released ? std::nullopt : std::optional{core_.leaderOf(theirs)});
    }
    return {next::Stop{undrained ? ReleaseResult::notDrained : ReleaseResult::notHeld}};
  }
  if (!core_.stopping) core_.work.endsFrom = now;
  const nanoseconds untilFree = std::max(stillValid, nanoseconds{0});
  const nanoseconds lease = core_.options.timing.duration();
  const nanoseconds cooldown = draining_ ? lease + untilFree : progressMissing(now) ? lease : nanoseconds{0};
  return {next::Challenge{cooldown, found}};
}

}  // namespace tenure
