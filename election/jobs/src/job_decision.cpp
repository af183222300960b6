#include "job_runs.hpp"
#include "period_spans.hpp"
#include "wall_clock.hpp"

namespace tenure {

using std::chrono::seconds;
using std::chrono::sys_seconds;

JobDecision JobRuns::decide(sys_seconds now, const Schedule& schedule, const JobPolicy& policy,
                            FencingToken ownToken) const {
  if (isOpenIn(ownToken)) return RunIsOpen{};
  const sys_seconds time = withinRange(now);
  const auto again = anotherAttempt(schedule.latestAt(time), policy, ownToken);
  const auto due = duePeriod(time, schedule, policy);
  // A period takes the place of one that is still to come: the clock was ahead.
  const bool givesWay = again && due && *due < again->period && policy.missed != Missed::all;
  if (again && !givesWay) return *again;
  if (due) return BeginRun{*due};
  return WaitUntil{schedule.after(time)};
}

std::optional<BeginRun> JobRuns::anotherAttempt(sys_seconds current, const JobPolicy& policy,
                                                FencingToken ownToken) const {
  const auto& open = history_.open;
  if (!open || policy.guarantee == Guarantee::atMostOnce || open->attempt >= policy.mostAttempts) return std::nullopt;
  // If the clock was put back, the current period is an earlier one, and decide() says which goes first.
  if (policy.missed != Missed::all && open->period < current) return std::nullopt;
  const unsigned attempt = open->attempt + 1;
  // Each term counts its pause from its start, so terms that are shorter than a grown pause would never end one.
  return BeginRun{open->period, attempt, pauseBefore(policy, open->token == ownToken ? attempt : 2)};
}

std::optional<sys_seconds> JobRuns::duePeriod(sys_seconds now, const Schedule& schedule,
                                              const JobPolicy& policy) const {
  const sys_seconds current = schedule.latestAt(now);
  if (contains(current)) return std::nullopt;
  switch (policy.missed) {
    case Missed::skip:
      if (now - current > policy.lateBy) return std::nullopt;
      return current;
    case Missed::once:
      return current;
    case Missed::all:
      return firstMissed(current, schedule, policy.mostMissed);
  }
  return std::nullopt;
}

/// Goes back to the last period that was begun. One in a span of an earlier schedule counts as well, though by this one
/// no period lies there. But what is left between two periods that were forgotten (removePeriod) was never one.
sys_seconds JobRuns::firstMissed(sys_seconds current, const Schedule& schedule, unsigned most) const {
  sys_seconds first = current;
  for (unsigned missed = 0; missed < most; ++missed) {
    const auto last = latestBefore(history_.begun, first);
    if (!last) break;  // no history before it: nothing was missed
    const sys_seconds earlier = schedule.latestAt(first - seconds{1});
    const bool isRemainder = *last == first - seconds{1} && contains(earlier + seconds{1});
    if (earlier >= first || contains(earlier) || (earlier < *last && !isRemainder)) break;
    first = earlier;
  }
  return first;
}

}  // namespace tenure
