// The bounded set of begun periods. JobRuns says what the bound costs.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include <tenure/jobs/job_ledger.hpp>
#include <tenure/jobs/schedule.hpp>

namespace tenure {

/// Do not overlap. Ordered by when a period of theirs was begun, the last one last.
using PeriodSpans = std::vector<PeriodSpan>;

/// Two spans with a gap of at most this may become one, so that the periods between them count as missed.
inline constexpr std::chrono::days longestClosedGap{180};

[[nodiscard]] bool holdsPeriod(const PeriodSpans& spans, std::chrono::sys_seconds period);

/// The latest period before `limit` that the spans hold.
[[nodiscard]] std::optional<std::chrono::sys_seconds> latestBefore(const PeriodSpans& spans,
                                                                   std::chrono::sys_seconds limit);

/// Adds the periods from one to another, and closes a gap or forgets a span if there are more than JobRuns::mostSpans.
void addPeriods(PeriodSpans& spans, const PeriodSpan& added, const Schedule& schedule);

/// Takes out a period that the spans hold. What is left of its span ends and begins one second beside it, which takes
/// out nothing else, by whatever schedule the others were named.
void removePeriod(PeriodSpans& spans, std::chrono::sys_seconds period);

}  // namespace tenure
