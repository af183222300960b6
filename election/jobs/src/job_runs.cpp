#include "job_runs.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <tenure/lockcore/lease_record.hpp>

#include "period_spans.hpp"
#include "wall_clock.hpp"

namespace tenure {

namespace {

using std::chrono::milliseconds;
using std::chrono::sys_seconds;

// What a ledger may hold: values are brought into these bounds when they are noted, so that its text stays short.
constexpr std::chrono::days margin{42 * 366};
constexpr unsigned mostAttemptNumber = 1'000'000;
constexpr milliseconds longestRun = std::chrono::days{36'600};

/// Schedules give periods from 41 years before 1970 to 41 years after 9999.
bool isPeriod(sys_seconds time) noexcept { return time >= earliestShown - margin && time <= latestShown + margin; }

milliseconds nearestLength(milliseconds length) noexcept { return std::clamp(length, milliseconds{0}, longestRun); }

bool isText(std::string_view name) {
  const auto forbidden = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  return isUtf8(name) && std::none_of(name.begin(), name.end(), forbidden);
}

/// The name, cut at a whole character so that its JSON has at most JobRuns::mostHolderBytes. Empty if it is not UTF-8
/// without control characters.
std::string shortHolder(std::string_view name) {
  if (!isText(name)) return {};
  const auto inJson = [](char c) { return c == '"' || c == '\\' ? 2U : 1U; };
  std::size_t end = 0;
  std::size_t bytes = 0;
  std::size_t whole = 0;  // the end of the last whole character that fits
  for (; end < name.size(); ++end) {
    const bool continues = (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U;
    if (!continues) whole = end;
    bytes += inJson(name[end]);
    if (bytes > JobRuns::mostHolderBytes) return std::string{name.substr(0, whole)};
  }
  return std::string{name};
}

bool isRun(sys_seconds period, FencingToken token, unsigned attempt, sys_seconds began, const std::string& holder) {
  return isPeriod(period) && !token.isNone() && token <= maxFencingToken && attempt >= 1 &&
         attempt <= mostAttemptNumber && began == withinRange(began) && holder == shortHolder(holder);
}

bool isPastRun(const PastRun& run) {
  const bool lost = run.outcome == RunOutcome::lost;
  return isRun(run.period, run.token, run.attempt, run.began, run.holder) && lost != run.duration.has_value() &&
         (!lost || !run.exitCode) && (lost || *run.duration == nearestLength(*run.duration));
}

std::optional<std::string> faultOfSpans(std::vector<PeriodSpan> spans) {
  if (spans.size() > JobRuns::mostSpans) return "it has too many spans of periods";
  std::sort(spans.begin(), spans.end(), [](const PeriodSpan& a, const PeriodSpan& b) { return a.from < b.from; });
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (!isPeriod(spans[i].from) || !isPeriod(spans[i].to) || spans[i].from > spans[i].to)
      return "a span of periods is out of range";
    if (i > 0 && spans[i].from <= spans[i - 1].to) return "two spans of periods overlap";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> JobRuns::faultOf(const JobHistory& history) {
  if (auto fault = faultOfSpans(history.begun)) return fault;
  if (history.past.size() > mostPastRuns) return "it has too many past runs";
  if (!std::all_of(history.past.begin(), history.past.end(), isPastRun)) return "a past run has a value out of range";
  const auto& open = history.open;
  if (!open) return std::nullopt;
  if (!isRun(open->period, open->token, open->attempt, open->began, open->holder))
    return "the open run has a value out of range";
  const bool begun = std::any_of(history.begun.begin(), history.begun.end(), [&](const PeriodSpan& span) {
    return span.from <= open->period && open->period <= span.to;
  });
  if (!begun) return "the open run is not among the started periods";
  return std::nullopt;
}

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
  history_.open = OpenRun{run.period, start.token, run.attempt, withinRange(start.now), shortHolder(start.holder)};
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

bool JobRuns::hasLastOf(const JobRuns& earlier) const {
  const auto& past = history_.past;
  const auto has = [&](const auto& run) {
    const auto same = [&](const auto& own) {
      return own.period == run.period && own.token == run.token && own.attempt == run.attempt;
    };
    return std::any_of(past.begin(), past.end(), same);
  };
  const JobHistory& then = earlier.history_;
  if (!then.past.empty() && !has(then.past.back())) return false;
  const auto& open = then.open;
  return !open || open->ended || open == history_.open || has(*open);
}

bool JobRuns::doubt(sys_seconds current, const RunStart& seen, const Schedule& schedule) {
  if (contains(current) || !isPeriod(current)) return false;
  const auto last = latestBefore(history_.begun, current);
  addPeriods(history_.begun, {last ? std::min(schedule.after(*last), current) : current, current}, schedule);
  keep({current, seen.token, 1, withinRange(seen.now), RunOutcome::lost, {}, {}, shortHolder(seen.holder)});
  return true;
}

void JobRuns::keep(PastRun run) {
  auto& past = history_.past;
  past.push_back(std::move(run));
  if (past.size() > mostPastRuns) past.erase(past.begin());
}

}  // namespace tenure
