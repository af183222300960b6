#include "lease_gate.hpp"

#include <algorithm>
#include <string>

namespace tenure::http_fence {

std::optional<FenceError> LeaseGate::refusal(const TermStamp& stamp) const {
  auto refused = fenceRefusal(stamp, highest_);
  // Messages name the writer. If a writer gives no name, they must not show an empty one.
  if (refused && stamp.holder.empty()) {
    TermStamp named = stamp;
    named.holder = "a writer without a name";
    refused = fenceRefusal(named, highest_);
  }
  return refused;
}

bool LeaseGate::isSeen(const TermStamp& stamp) const {
  return seen_ && seen_->token == stamp.token && (stamp.holder.empty() || !seen_->holder.empty());
}

/// No request of another term is under way.
bool LeaseGate::isAlone(FencingToken token) const { return underWay_.empty() || underWayToken_ == token; }

bool LeaseGate::open(const TermStamp& stamp) const {
  return isSeen(stamp) && passed_ == stamp.token && isAlone(stamp.token);
}

/// Asks for the marks that the highest term lacks on the disk, if they may be written now.
void LeaseGate::mark(Effects& effects) const {
  const bool mayPass = isAlone(highest_->token) && passed_ != highest_->token;
  if (isSeen(*highest_) && !mayPass) return;
  effects.store = TermMarks{*highest_, mayPass ? std::optional{highest_->token} : std::nullopt};
}

void LeaseGate::raise(const TermStamp& stamp, Effects& effects) {
  const bool later = !highest_ || highest_->token < stamp.token;
  highest_ = stamp;
  mark(effects);
  if (!later) return;
  // Requests that wait for an earlier term to become durable have been overtaken before they could pass.
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (auto refused = refusal(at->stamp)) {
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
  if (auto refused = refusal(stamp)) {
    effects.refused.push_back({ticket, *std::move(refused)});
    return effects;
  }
  if (waiting_.empty() && highest_ && highest_->token == stamp.token && open(stamp)) {
    underWayToken_ = stamp.token;
    underWay_.insert(ticket);
    effects.passed.push_back(ticket);
    return effects;
  }
  const bool rises = !highest_ || highest_->token < stamp.token || (highest_->holder.empty() && !stamp.holder.empty());
  // The first request of a new term refuses the waiting requests of earlier terms, and so gets a place.
  if (rises) raise(stamp, effects);
  if (waiting_.size() >= maxWaiting_) {
    effects.refused.push_back({ticket, fenceTrouble({ErrorClass::throttled,
                                                     "too many requests wait for the ones of the term before to end; "
                                                     "try again"})});
    return effects;
  }
  waiting_.push_back({ticket, stamp});
  // A write to the disk that failed before is tried again by the next request.
  if (!effects.store) mark(effects);
  let(effects);
  return effects;
}

void LeaseGate::let(Effects& effects) {
  std::deque<Waiter> left;
  for (Waiter& waiter : waiting_) {
    if (!open(waiter.stamp)) {
      left.push_back(std::move(waiter));
      continue;
    }
    underWayToken_ = waiter.stamp.token;
    underWay_.insert(waiter.ticket);
    effects.passed.push_back(waiter.ticket);
  }
  waiting_ = std::move(left);
}

LeaseGate::Effects LeaseGate::stored(const TermMarks& marks) {
  Effects effects;
  const TermStamp& stamp = marks.seen;
  const bool news = !seen_ || seen_->token < stamp.token || (seen_->token == stamp.token && seen_->holder.empty());
  if (news) seen_ = stamp;
  if (marks.passed) passed_ = std::max(passed_, *marks.passed);
  if (!waiting_.empty()) mark(effects);  // what was under way may have ended during the write
  let(effects);
  return effects;
}

LeaseGate::Effects LeaseGate::notStored(const TermMarks& marks, const FenceError& why) {
  Effects effects;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const bool concerned = at->stamp.token <= marks.seen.token && !open(at->stamp);
    if (concerned) effects.refused.push_back({at->ticket, why});
    at = concerned ? waiting_.erase(at) : at + 1;
  }
  return effects;
}

LeaseGate::Effects LeaseGate::end(Ticket ticket) {
  Effects effects;
  underWay_.erase(ticket);
  if (!underWay_.empty()) return effects;
  if (!waiting_.empty()) mark(effects);
  let(effects);
  return effects;
}

LeaseGate::Effects LeaseGate::leave(Ticket ticket) {
  waiting_.erase(
      std::remove_if(waiting_.begin(), waiting_.end(), [&](const Waiter& waiter) { return waiter.ticket == ticket; }),
      waiting_.end());
  return {};
}

void LeaseGate::suppose(Ticket ticket, FencingToken passed) {
  // A mark above what was seen (the memory was corrected by hand) is no reason to let that term pass without a new
  // mark.
  if (seen_ && passed <= seen_->token) passed_ = passed;
  underWayToken_ = passed;
  underWay_.insert(ticket);
}

}  // namespace tenure::http_fence
