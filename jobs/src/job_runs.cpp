#include "job_runs.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "history_checks.hpp"
#include "period_spans.hpp"

namespace tenure {

using std::chrono::sys_seconds;

std::string_view toString(RunOutcome outcome) noexcept {
  switch (outcome) {
    case RunOutcome::succeeded:
      return "succeeded";
    case RunOutcome::failed:
      return "failed";
    case RunOutcome::stopped:
      return "stopped";
    case RunOutcome::lost:
      return "lost";
  }
  return "unknown";
}

JobRuns::JobRuns(JobHistory history) : history_{std::move(history)} {
  if (const auto fault = faultOf(history_)) throw std::invalid_argument("no ledger of a job: " + *fault);
}

bool JobRuns::isOpenIn(FencingToken term) const {
  return history_.open && history_.open->token == term && !history_.open->ended;
}

bool JobRuns::mayBegin(const BeginRun& run, FencingToken token) const {
  if (token.isNone() || token > maxFencingToken || !isPeriod(run.period) || isOpenIn(token)) return false;
  if (run.attempt == 1) return !contains(run.period);
  const auto& open = history_.open;
  return open && open->period == run.period && run.attempt == open->attempt + 1 && run.attempt <= mostAttemptNumber;
}

bool JobRuns::begin(const BeginRun& run, const RunStart& start, const Schedule& schedule) {
  if (!mayBegin(run, start.token)) return false;
  if (const auto& open = history_.open; open && !open->ended)
    keep({open->period, open->token, open->attempt, open->began, RunOutcome::lost, {}, {}, open->holder});
  addPeriods(history_.begun, {run.period, run.period}, schedule);
  history_.open = OpenRun{run.period, start.token, run.attempt, nearestTime(start.now), shortHolder(start.holder)};
  return true;
}

bool JobRuns::end(const RunEnd& end) {
  auto& open = history_.open;
  if (!isOpenIn(end.token) || end.outcome == RunOutcome::lost) return false;
  keep({open->period, open->token, open->attempt, open->began, end.outcome, end.exitCode, nearestLength(end.duration),
        open->holder});
  if (end.outcome == RunOutcome::succeeded) {
    open.reset();
  } else {
    open->ended = true;
  }
  return true;
}

Forgotten JobRuns::forget(sys_seconds period, FencingToken liveToken) {
  auto& open = history_.open;
  const bool isOpen = open && open->period == period;
  if (isOpen && isOpenIn(liveToken)) return Forgotten::running;
  if (!contains(period)) return Forgotten::notThere;
  if (isOpen) {
    if (!open->ended)
      keep({open->period, open->token, open->attempt, open->began, RunOutcome::lost, {}, {}, open->holder});
    open.reset();
  }
  removePeriod(history_.begun, period);
  return Forgotten::done;
}

bool JobRuns::contains(sys_seconds period) const { return holdsPeriod(history_.begun, period); }

void JobRuns::learn(const JobRuns& known, const Schedule& schedule) {
  for (const PeriodSpan& span : known.history_.begun) addPeriods(history_.begun, span, schedule);
  const auto newest = [](const JobHistory& history) {
    const FencingToken past = history.past.empty() ? FencingToken{} : history.past.back().token;
    return history.open ? std::max(history.open->token, past) : past;
  };
  if (newest(known.history_) < newest(history_)) return;
  history_.open = known.history_.open;
  history_.past = known.history_.past;
}

bool JobRuns::doubt(sys_seconds current, const RunStart& seen, const Schedule& schedule) {
  if (contains(current) || !isPeriod(current)) return false;
  const auto last = latestBefore(history_.begun, current);
  addPeriods(history_.begun, {last ? std::min(schedule.after(*last), current) : current, current}, schedule);
  keep({current, seen.token, 1, nearestTime(seen.now), RunOutcome::lost, {}, {}, shortHolder(seen.holder)});
  return true;
}

void JobRuns::keep(PastRun run) {
  auto& past = history_.past;
  past.push_back(std::move(run));
  if (past.size() > mostPastRuns) past.erase(past.begin());
}

}  // namespace tenure
