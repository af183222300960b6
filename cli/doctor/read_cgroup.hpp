// The limits of this process's control group, in version 2 and in version 1 of their files.
#pragma once

#include "facts.hpp"
#include "machine_tree.hpp"

namespace tenure::cli::doctor {

/// Sets `cpu` and `memory`, and adds to `processes`. The tightest of all levels counts, from the process's own group up
/// to the root that is visible here.
void readCgroup(const MachineTree& tree, LimitFacts& facts);

}  // namespace tenure::cli::doctor
