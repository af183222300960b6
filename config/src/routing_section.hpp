// The section `routing`: its keys, and the rules for them.
#pragma once

#include <string_view>
#include <vector>

#include <tenure/config/group_config.hpp>

#include "key_spec.hpp"

namespace tenure::config {

inline constexpr std::string_view routingSection = "routing";

void addRoutingKeys(std::vector<KeySpec>& out);

[[nodiscard]] OptionFaults faultsOfRouting(const GroupConfig& config);

/// kubernetesOptionsOf(). Throws std::runtime_error with all faults of the kubeconfig file, and UnusableHere where it,
/// or a file that its context names, cannot be opened, and nothing else is wrong.
[[nodiscard]] TENURE_API KubernetesStoreOptions usableOptionsOf(const KubernetesConfig& config);

}  // namespace tenure::config
