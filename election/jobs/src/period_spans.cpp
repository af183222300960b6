#include "period_spans.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "job_runs.hpp"

namespace tenure {
namespace {

using std::chrono::sys_seconds;

bool holds(const PeriodSpan& span, sys_seconds period) { return span.from <= period && period <= span.to; }

/// Two neighbours in time, by their places among the spans.
struct Gap {
  std::size_t before;
  std::size_t after;
};

std::vector<Gap> gapsInTime(const PeriodSpans& spans) {
  std::vector<std::size_t> places(spans.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return spans[a].from < spans[b].from; });
  std::vector<Gap> gaps;
  for (std::size_t i = 1; i < places.size(); ++i) gaps.push_back({places[i - 1], places[i]});
  return gaps;
}

/// The gap to close now that `period` begins: the shortest of those before it. What is in them is over, if the clock is
/// right. If there is none, the shortest of those after it. `open` is a period whose gap must stay.
std::optional<Gap> gapToClose(const PeriodSpans& spans, sys_seconds period, std::optional<sys_seconds> open) {
  std::optional<Gap> chosen;
  std::pair<bool, std::chrono::seconds> least{true, longestClosedGap + std::chrono::seconds{1}};
  for (const Gap& gap : gapsInTime(spans)) {
    const sys_seconds from = spans[gap.before].to;
    const sys_seconds to = spans[gap.after].from;
    if (to - from > longestClosedGap || (open && from < *open && *open < to)) continue;
    const std::pair<bool, std::chrono::seconds> cost{to > period, to - from};
    if (cost >= least) continue;
    least = cost;
    chosen = gap;
  }
  return chosen;
}

void makeRoom(PeriodSpans& spans, sys_seconds period, std::optional<sys_seconds> open) {
  if (spans.size() <= JobRuns::mostSpans) return;
  if (const auto gap = gapToClose(spans, period, open)) {
    const PeriodSpan joined{spans[gap->before].from, spans[gap->after].to};
    spans[std::max(gap->before, gap->after)] = joined;
    spans.erase(spans.begin() + static_cast<std::ptrdiff_t>(std::min(gap->before, gap->after)));
  } else {
    spans.erase(spans.begin());
  }
}

}  // namespace

bool holdsPeriod(const PeriodSpans& spans, sys_seconds period) {
  return std::any_of(spans.begin(), spans.end(), [&](const PeriodSpan& span) { return holds(span, period); });
}

std::optional<sys_seconds> latestBefore(const PeriodSpans& spans, sys_seconds limit) {
  std::optional<sys_seconds> latest;
  for (const PeriodSpan& span : spans) {
    if (span.from >= limit) continue;
    const sys_seconds last = std::min(span.to, limit - std::chrono::seconds{1});
    latest = std::max(latest.value_or(last), last);
  }
  return latest;
}

void addPeriods(PeriodSpans& spans, const PeriodSpan& added, const Schedule& schedule) {
  PeriodSpan grown = added;
  const sys_seconds next = schedule.after(added.to);
  for (const PeriodSpan& span : spans) {
    const bool overlaps = span.from <= added.to && added.from <= span.to;
    if (overlaps || (span.to < added.from && schedule.after(span.to) == added.from))
      grown.from = std::min(grown.from, span.from);
    if (overlaps || (span.from > added.to && span.from <= next)) grown.to = std::max(grown.to, span.to);
  }
  // What is inside of the grown span was joined to it, or was named by another schedule.
  std::erase_if(spans, [&](const PeriodSpan& span) { return grown.from <= span.from && span.to <= grown.to; });
  spans.push_back(grown);
  makeRoom(spans, added.to, std::nullopt);
}

void removePeriod(PeriodSpans& spans, sys_seconds period) {
  const auto found =
      std::find_if(spans.begin(), spans.end(), [&](const PeriodSpan& span) { return holds(span, period); });
  if (found == spans.end()) return;
  const PeriodSpan whole = *found;
  auto place = spans.erase(found);
  constexpr std::chrono::seconds beside{1};
  if (period < whole.to) place = spans.insert(place, {period + beside, whole.to});
  // With nothing before it, it would not count as missed: nothing is missed before the first period of all.
  const bool isFirst = whole.from == whole.to && !latestBefore(spans, period);
  if (whole.from < period || isFirst) spans.insert(place, {std::min(whole.from, period - beside), period - beside});
  makeRoom(spans, period, period);
}

}  // namespace tenure
