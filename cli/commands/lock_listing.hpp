// `tenure lock list` and `tenure lock prune`.
#pragma once

#include <tenure/lockcore/lease_store.hpp>

#include "cli/lock_arguments.hpp"

namespace tenure::cli {

[[nodiscard]] int listLocks(const LockArguments& arguments, LeaseStore& store);
[[nodiscard]] int pruneLocks(const LockArguments& arguments, LeaseStore& store);

}  // namespace tenure::cli
