// What is wrong with a job as a user describes it.
#pragma once

#include <string>

#include <tenure/election/jobs/job_policy.hpp>

#include "jobs_document.hpp"

namespace tenure {

/// Fields: "name" and those of the policy, each with `before` in front.
[[nodiscard]] inline OptionFaults faultsOfJob(const std::string& name, const JobPolicy& policy,
                                              const std::string& before = {}) {
  OptionFaults faults = faultsOf(policy);
  if (auto fault = faultOfJobName(name)) faults.insert(faults.begin(), {"name", *std::move(fault)});
  for (OptionFault& fault : faults) fault.field = before + fault.field;
  return faults;
}

}  // namespace tenure
