// What `tenure jobs` shows. Pure: the ledgers, the group's jobs and the time are arguments.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenure/config/group_config.hpp>
#include <tenure/lockcore/lease_record.hpp>

#include "election/jobs/src/jobs_document.hpp"

namespace tenure::cli {

/// A run that has ended or not.
struct RunView {
  std::chrono::sys_seconds period;
  std::string_view state;  ///< running, or an outcome
  std::optional<int> exitCode{};
  std::optional<std::chrono::milliseconds> duration{};
  unsigned attempt{1};
  std::chrono::sys_seconds began;
  std::string holder;
  FencingToken token;
};

struct JobView {
  std::string name;
  std::optional<JobConfig> config{};               ///< none: the group's file has no such job
  std::optional<std::chrono::sys_seconds> next{};  ///< the period after the present one; only with `config`
  std::string localNext{};                         ///< in the job's time zone, unless that is UTC
  std::vector<PeriodSpan> begun{};                 ///< in the order of time
  std::vector<RunView> runs{};                     ///< the latest comes first
};

/// The jobs of the file in its order, then those that only the ledgers have. A run without an end goes on if its term
/// is that of `record`, and that is held; else it is lost. `record` may be null.
[[nodiscard]] std::vector<JobView> jobViewsOf(const JobsDocument& ledgers, const std::vector<JobConfig>& jobs,
                                              const LeaseRecord* record, std::chrono::sys_seconds now);

/// For people.
[[nodiscard]] std::string toTable(const std::vector<JobView>& jobs, const std::string& file, bool colours);

/// One JSON object on a line; docs/program/jobs.md lists the keys.
[[nodiscard]] std::string toJson(const JobView& job, const std::string& group, const std::string& store);

}  // namespace tenure::cli
