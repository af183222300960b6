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

}  // namespace tenure::config
