// The store of a `tenure lock` command, and what else a group's file says.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tenure/config/group_config.hpp>
#include <tenure/lockcore/lease_store.hpp>

#include "lock_arguments.hpp"

namespace tenure::cli {

/// Where the store comes from; the first that is given counts: --store and its flags; --config; TENURE_LOCK_STORE;
/// TENURE_CONFIG. A flag that is missing beside --store is taken from its variable (lock_words.hpp). A file gives the
/// defaults for the candidate's name and the lease; the command gives the lock's name and timing. Empty if something is
/// wrong; that was reported on stderr.
[[nodiscard]] std::optional<GroupConfig> lockConfigOrComplain(const LockArguments& arguments);

/// Makes no request. Warnings of the store go to stderr.
[[nodiscard]] std::shared_ptr<LeaseStore> lockStore(const GroupConfig& config);

}  // namespace tenure::cli
