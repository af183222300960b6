#include <algorithm>
#include <string>

#include <tenure/jobs/schedule.hpp>

#include "job_ranges.hpp"

namespace tenure {
namespace {

using std::chrono::milliseconds;

void check(const char* field, unsigned value, const JobRanges::Count& allowed, OptionFaults& faults) {
  if (allowed.holds(value)) return;
  faults.push_back({field,
                    std::to_string(value) + " is out of range; allowed is " + std::to_string(allowed.least) + " to " +
                        std::to_string(allowed.most),
                    true});
}

void check(const char* field, milliseconds value, const JobRanges::Length& allowed, OptionFaults& faults) {
  if (allowed.holds(value)) return;
  faults.push_back({field,
                    std::to_string(value.count()) + "ms is out of range; allowed is " +
                        std::to_string(allowed.least.count()) + "ms to " + std::to_string(allowed.most.count()) + "ms",
                    true});
}

}  // namespace

OptionFaults faultsOf(const JobPolicy& policy) {
  OptionFaults faults;
  check("lateBy", policy.lateBy, JobRanges::lateBy, faults);
  check("mostMissed", policy.mostMissed, JobRanges::mostMissed, faults);
  check("mostAttempts", policy.mostAttempts, JobRanges::mostAttempts, faults);
  check("backoff", policy.backoff, JobRanges::backoff, faults);
  return faults;
}

milliseconds pauseBefore(const JobPolicy& policy, unsigned attempt) {
  if (attempt < 2) return milliseconds{0};
  milliseconds pause = policy.backoff;
  for (unsigned doubled = 2; doubled < attempt && pause < longestBackoff && pause.count() > 0; ++doubled) pause *= 2;
  return std::min(pause, longestBackoff);
}

}  // namespace tenure
