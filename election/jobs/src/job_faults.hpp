// What is wrong with a job as a user describes it.
#pragma once

#include <cstddef>
#include <string>

#include <tenure/jobs/schedule.hpp>

#include "jobs_document.hpp"

namespace tenure {

/// Fields: "name" and those of the policy, each with `before` in front.
[[nodiscard]] inline OptionFaults faultsOfJob(const std::string& name, const JobPolicy& policy,
                                              const std::string& before = {}) {
  OptionFaults faults = faultsOf(policy);
  if (auto fault = faultOfNewJobName(name)) faults.insert(faults.begin(), {"name", *std::move(fault)});
  for (OptionFault& fault : faults) fault.field = before + fault.field;
  return faults;
}

/// Field: "overlap".
[[nodiscard]] inline OptionFaults faultsOfOverlap(Overlap overlap, const JobPolicy& policy) {
  if (overlap != Overlap::replace || policy.missed != Missed::all) return {};
  return {{"overlap",
           "cannot be replace together with missed all, because a run that makes up for a missed period would be "
           "stopped at once; give overlap wait, or missed once"}};
}

/// Field: "jobs".
[[nodiscard]] inline OptionFaults faultsOfCount(std::size_t jobs) {
  if (jobs <= mostJobs) return {};
  return {{"jobs", "there are " + std::to_string(jobs) + ", and a group has at most " + std::to_string(mostJobs) +
                       "; divide them among several groups"}};
}

}  // namespace tenure
