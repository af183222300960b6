#include "lease_gate.hpp"

#include <algorithm>

namespace tenure::http_fence {
namespace {

/// Whether the stamp is to be remembered in place of `known`: it is of a later term, or names the holder of the same
/// term for the first time.
bool saysMore(const TermStamp& stamp, const std::optional<TermStamp>& known) {
  if (!known || known->token < stamp.token) return true;
  return known->token == stamp.token && known->holder.empty() && !stamp.holder.empty();
}

}  // namespace

std::optional<FenceError> LeaseGate::errorOf(const TermStamp& stamp) const {
  // The message names the writer, and must not show an empty name. For the rule, this name is as good as none.
  TermStamp named = stamp;
  if (named.holder.empty()) named.holder = "a writer without a name";
  return termError(named, highest_);
}

/// Condition (1) of the class: this term is on the disk as seen, and so is the holder's name if the request has one.
bool LeaseGate::isSeen(const TermStamp& stamp) const {
  return seen_ && seen_->token == stamp.token && (stamp.holder.empty() || !seen_->holder.empty());
}

/// Condition (2): no request of another term is under way.
bool LeaseGate::othersHaveEnded(FencingToken token) const { return underWay_.empty() || underWayToken_ == token; }

/// All three conditions of the class.
bool LeaseGate::mayPass(const TermStamp& stamp) const {
  return isSeen(stamp) && passed_ == stamp.token && othersHaveEnded(stamp.token);
}

void LeaseGate::begin(Ticket ticket, FencingToken token) {
  underWayToken_ = token;
  underWay_.insert(ticket);
}

/// Asks for the marks that the highest term lacks on the disk, if they may be written now: that it was seen may be
/// written at any time, that it has passed only after condition (2).
void LeaseGate::askForMarks(Effects& effects) const {
  const FencingToken token = highest_->token;
  const bool marksPassed = othersHaveEnded(token) && passed_ != token;
  if (isSeen(*highest_) && !marksPassed) return;
  effects.store = TermMarks{*highest_, marksPassed ? std::optional{token} : std::nullopt};
}

/// After every event that may have brought waiting requests nearer to their turn.
void LeaseGate::passWaiting(Effects& effects) {
  if (!waiting_.empty()) askForMarks(effects);
  std::deque<Waiter> left;
  for (Waiter& waiter : waiting_) {
    if (!mayPass(waiter.stamp)) {
      left.push_back(std::move(waiter));
      continue;
    }
    begin(waiter.ticket, waiter.stamp.token);
    effects.passed.push_back(waiter.ticket);
  }
  waiting_ = std::move(left);
}

/// The stamp says more than highest_. If it only adds a name, no request is of an earlier term because of it.
void LeaseGate::raiseHighest(const TermStamp& stamp, Effects& effects) {
  const bool isLaterTerm = !highest_ || highest_->token < stamp.token;
  highest_ = stamp;
  askForMarks(effects);
  if (!isLaterTerm) return;
  // Requests that wait for an earlier term to become durable have been overtaken before they could pass.
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (auto refused = errorOf(at->stamp)) {
      effects.refused.push_back({at->ticket, *std::move(refused)});
      at = waiting_.erase(at);
    } else {
      ++at;
    }
  }
  if (underWayToken_ < stamp.token) effects.overtaken = underWay_;
}

LeaseGate::Effects LeaseGate::arrive(Ticket ticket, const TermStamp& stamp) {
  Effects effects;
  if (auto refused = errorOf(stamp)) {
    effects.refused.push_back({ticket, *std::move(refused)});
    return effects;
  }
  const bool isOfHighest = highest_ && highest_->token == stamp.token;
  if (isOfHighest && waiting_.empty() && mayPass(stamp)) {
    begin(ticket, stamp.token);
    effects.passed.push_back(ticket);
    return effects;
  }
  // Before the places are counted: the first request of a new term refuses the waiting requests of earlier terms, and
  // so gets a place.
  if (saysMore(stamp, highest_)) raiseHighest(stamp, effects);
  if (waiting_.size() >= maxWaiting_) {
    effects.refused.push_back({ticket, fenceError({ErrorClass::throttled,
                                                   "too many requests wait for the ones of the term before to end; "
                                                   "try again"})});
    return effects;
  }
  waiting_.push_back({ticket, stamp});
  passWaiting(effects);  // asks for missing marks each time, so a write to the disk that failed before is tried again
  return effects;
}

LeaseGate::Effects LeaseGate::stored(const TermMarks& marks) {
  Effects effects;
  // What is known to be on the disk never falls, in whatever order writes are answered.
  if (saysMore(marks.seen, seen_)) seen_ = marks.seen;
  if (marks.passed) passed_ = std::max(passed_, *marks.passed);
  passWaiting(effects);  // what was under way may have ended during the write, so another mark may be due
  return effects;
}

LeaseGate::Effects LeaseGate::notStored(const TermMarks& marks, const FenceError& why) {
  Effects effects;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    // A request of a later term waits for a write of its own.
    const bool waitedForIt = at->stamp.token <= marks.seen.token && !mayPass(at->stamp);
    if (waitedForIt) effects.refused.push_back({at->ticket, why});
    at = waitedForIt ? waiting_.erase(at) : at + 1;
  }
  return effects;
}

LeaseGate::Effects LeaseGate::end(Ticket ticket) {
  Effects effects;
  underWay_.erase(ticket);
  if (underWay_.empty()) passWaiting(effects);
  return effects;
}

LeaseGate::Effects LeaseGate::leave(Ticket ticket) {
  std::erase_if(waiting_, [&](const Waiter& waiter) { return waiter.ticket == ticket; });
  return {};
}

void LeaseGate::suppose(Ticket ticket, FencingToken passed) {
  // Keeps passed_ not above seen_. If an operator has lowered what was seen, the old mark may be above it, and would
  // let that term pass without a new one.
  if (seen_ && passed <= seen_->token) passed_ = passed;
  begin(ticket, passed);
}

}  // namespace tenure::http_fence
