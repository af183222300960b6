// The store of a `tenure lock` command: how its keys are written on the command line and in the environment, where it
// comes from, and what else a group's file says.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenure/config/group_config.hpp>
#include <tenure/lockcore/lease_store.hpp>

#include "config/src/store_types.hpp"
#include "lock_arguments.hpp"

namespace tenure::cli {

/// The stores that can hold a lock: those that other processes see.
[[nodiscard]] std::vector<const config::StoreType*> lockStores();
[[nodiscard]] std::vector<std::string> lockStoreNames();

/// Those of the store's keys that have a word (KeySpec::word), so that they can be given without a file.
[[nodiscard]] std::vector<const config::KeySpec*> keysWithWords(const config::StoreType& store);

/// `--partition-key` for store.partition_key.
[[nodiscard]] std::string optionOf(const config::KeySpec& key);
/// `TENURE_LOCK_PARTITION_KEY` for store.partition_key.
[[nodiscard]] std::string variableOf(const config::KeySpec& key);

/// `--store sqlite --path FILE`: with what has to be given.
[[nodiscard]] std::string shortUsage(const config::StoreType& store);
/// All options of each store, for a help text.
[[nodiscard]] std::string lockStoresUsage();

/// Where the store comes from; the first that is given counts: --store and its flags; --config; TENURE_LOCK_STORE;
/// TENURE_CONFIG. Afterwards `store` is set, or `config`; neither if nothing is given, both if the words contradict
/// each other.
[[nodiscard]] LockStoreArguments withEnvironment(LockStoreArguments words);

/// For a store of withEnvironment(). A flag that is missing beside --store is taken from its variable, variableOf(). A
/// file gives the defaults for the candidate's name and the lease, and nothing of what a group's work needs; the
/// command gives the lock's name and timing. Empty if something is wrong; that was reported on stderr.
[[nodiscard]] std::optional<GroupConfig> lockConfigOrComplain(const LockArguments& arguments);

/// Makes no request. Warnings of the store go to stderr.
[[nodiscard]] std::shared_ptr<LeaseStore> lockStore(const GroupConfig& config);

}  // namespace tenure::cli
