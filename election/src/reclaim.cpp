#include "reclaim.hpp"

#include <tenure/election/listener.hpp>

namespace tenure {

bool Reclaim::concerns(const std::optional<LeaderInfo>& leader) const {
  return leader && !leader->self && !leader->token.isNone() && leader->priority > priority_ && !pauseIn(leader->holder);
}

/// The watch that there is goes on.
bool Reclaim::watches(const Instant& now, const LeaseStatus& status) const {
  return watch_ && watch_->term == status.leader->token && elapsedForHolder(watch_->lastLook, now) <= fresh_;
}

std::optional<LeaderInfo> Reclaim::look(const Instant& now, const LeaseStatus& status) {
  const bool idle = status.state == LeaseState::candidate && !status.workRunning && status.cooldown.count() == 0;
  const bool ready = status.ready && idle;
  const bool seen = status.leaderSeenAgo.count() >= 0 && status.leaderSeenAgo <= fresh_;
  if (!concerns(status.leader) || !ready || !seen) {
    watch_.reset();
    return std::nullopt;
  }
  const LeaderInfo& leader = *status.leader;
  if (!watches(now, status)) watch_ = Watch{leader.token, now, now};
  watch_->lastLook = now;
  if (elapsedForChallenger(watch_->since, now) < after_) return std::nullopt;
  const bool asked = request_ && request_->term == leader.token;
  if (asked && (!request_->failed || elapsedForHolder(request_->at, now) < fresh_)) return std::nullopt;
  request_ = Request{leader.token, now};
  return leader;
}

}  // namespace tenure
