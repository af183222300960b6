// The limits under which this process runs, from /proc and the files of its cgroup.
#pragma once

#include "facts.hpp"
#include "machine_tree.hpp"

namespace tenure::cli::doctor {

/// All of LimitFacts but what the group needs and has.
[[nodiscard]] LimitFacts readLimits(const MachineTree& tree);

}  // namespace tenure::cli::doctor
