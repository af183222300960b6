// The store of a `tenure lock` command, and what a group's file says beside it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tenure/config/group_config.hpp>
#include <tenure/lockcore/lease_store.hpp>

#include "lock_arguments.hpp"

namespace tenure::cli {

/// Where the store comes from, the first that is given: --store and its flags; --config; TENURE_LOCK_STORE;
/// TENURE_CONFIG. A flag that is missing beside --store is looked up as TENURE_LOCK_PATH, _TABLE, _REGION, _ENDPOINT,
/// _PROFILE, _PARTITION_KEY, _SORT_KEY. Of a file the candidate's name and the lease count as defaults; the lock's
/// name and timing are the command's. Empty if something is wrong, which was told on stderr.
[[nodiscard]] std::optional<GroupConfig> lockConfigOrComplain(const LockArguments& arguments);

/// Makes no request. Warnings of the store go to stderr.
[[nodiscard]] std::shared_ptr<LeaseStore> lockStore(const GroupConfig& config);

}  // namespace tenure::cli
