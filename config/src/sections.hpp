// The sections `jobs`, `hooks` and `routing`: their keys, and the rules for them and for all sections together.
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

void addReadyKeys(std::vector<KeySpec>& out);
void addProbeKeys(std::vector<KeySpec>& out);
void addHookKeys(std::vector<KeySpec>& out);

[[nodiscard]] OptionFaults faultsOfHooks(const GroupConfig& config);

inline constexpr std::string_view routingSection = "routing";

void addRoutingKeys(std::vector<KeySpec>& out);

[[nodiscard]] OptionFaults faultsOfRouting(const GroupConfig& config);

/// faultsOf(config), where those of `config.options` are known.
[[nodiscard]] OptionFaults faultsOf(const GroupConfig& config, OptionFaults ofOptions);

/// kubernetesOptionsOf(). Throws std::runtime_error with all faults of the kubeconfig file, and UnusableHere where it,
/// or a file that its context names, cannot be opened, and nothing else is wrong.
[[nodiscard]] TENURE_API KubernetesStoreOptions usableOptionsOf(const KubernetesConfig& config);

}  // namespace tenure::config
