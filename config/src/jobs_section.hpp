// The section `jobs`: its keys, and the rules that concern more than one value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tenure/config/group_config.hpp>

#include "key_spec.hpp"

namespace tenure::config {

/// Stands for each job's name: the keys of a job are `jobs.*.schedule` and so on.
inline constexpr std::string_view jobSection = "jobs.*";

/// Its keys read and write the last one of GroupConfig::jobs.
void addJobKeys(std::vector<KeySpec>& out);

/// A config with this job only, for KeySpec::get.
[[nodiscard]] GroupConfig configOf(const JobConfig& job);

/// "jobs.nightly"; a name that is not a plain word is in quotes.
[[nodiscard]] std::string pathOfJob(std::string_view name);

[[nodiscard]] OptionFaults faultsOfJobs(const GroupConfig& config);

}  // namespace tenure::config
