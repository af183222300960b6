#include "history_checks.hpp"

#include <algorithm>
#include <limits>

#include <tenure/lockcore/lease_key.hpp>

#include "job_runs.hpp"
#include "wall_clock.hpp"

namespace tenure {
namespace {

using std::chrono::milliseconds;
using std::chrono::sys_seconds;

constexpr std::chrono::days margin{42 * 366};

bool isText(std::string_view name) {
  const auto forbidden = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  return isUtf8(name) && std::none_of(name.begin(), name.end(), forbidden);
}

bool isRun(sys_seconds period, FencingToken token, unsigned attempt, sys_seconds began, const std::string& holder) {
  return isPeriod(period) && !token.isNone() && token <= maxFencingToken && attempt >= 1 &&
         attempt <= mostAttemptNumber && began == nearestTime(began) && holder == shortHolder(holder);
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

bool isPeriod(sys_seconds time) noexcept { return time >= earliestShown - margin && time <= latestShown + margin; }

sys_seconds nearestTime(sys_seconds time) noexcept { return withinRange(time); }

milliseconds nearestLength(milliseconds length) noexcept { return std::clamp(length, milliseconds{0}, longestRun); }

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

}  // namespace tenure
