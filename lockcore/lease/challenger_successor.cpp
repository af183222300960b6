// A lease that its last leader has released for one candidate.
#include <algorithm>

#include <tenure/lockcore/candidate_id.hpp>

#include "challenger.hpp"

namespace tenure {

using std::chrono::nanoseconds;

/// Names are not unique: all candidates of that name compete for it.
bool Challenger::isReleasedForIt() const {
  const std::string& name = core_.known.observation.releasedFor().name;
  return !name.empty() && name == nameOf(core_.options.holder);
}

/// The candidate that is named may be dead. So the others wait for one heartbeat, counted from when they saw this
/// version first: the observation outlives a candidacy of one term, so that many short ones get past it. One that has
/// less time than that waits for as long as it has, because the next one may be of a process that remembers nothing.
nanoseconds Challenger::leftToAnother(const Instant& now) const {
  const Observation& seen = core_.known.observation;
  if (seen.releasedFor().name.empty() || isReleasedForIt()) return nanoseconds{0};
  const nanoseconds left = seen.releasedFor().heartbeat + politeness_ - elapsedForChallenger(seen.since(), now);
  const std::optional<OneTerm>& rules = core_.options.oneTerm;
  if (!rules || !rules->patience) return left;
  return std::min(left, core_.candidacy.patienceLeft(*rules, now));
}

/// Time until this candidate may take the lease; <= 0: now. Empty: not known.
std::optional<nanoseconds> Challenger::untilFree(const Instant& now) const {
  const auto free = core_.known.observation.untilFree(now, politeness_);
  return free ? std::optional{std::max(*free, leftToAnother(now))} : std::nullopt;
}

}  // namespace tenure
