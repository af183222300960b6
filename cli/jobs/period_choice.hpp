// Which periods `tenure jobs forget` takes.
#pragma once

#include <chrono>
#include <string>

#include <tenure/config/group_config.hpp>

#include "election/jobs/src/job_runs.hpp"

namespace tenure::cli {

/// Says in one sentence why the begun spans of `job` must not lose this instant; empty: it is one of its periods. By
/// the schedule in the group's file; else, because nobody knows what periods there are, only a listed one is.
[[nodiscard]] std::string faultOfChoice(std::chrono::sys_seconds period, const std::string& job, const JobRuns& ledger,
                                        const GroupConfig& config, const std::string& file);

}  // namespace tenure::cli
