// The section `hooks`: its keys and rules.
#pragma once

#include <vector>

#include <tenure/config/group_config.hpp>

#include "key_spec.hpp"

namespace tenure::config {

void addHookKeys(std::vector<KeySpec>& out);

[[nodiscard]] OptionFaults faultsOfHooks(const GroupConfig& config);

}  // namespace tenure::config
