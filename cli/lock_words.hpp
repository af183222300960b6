// How the keys of a store are written on the command line of `tenure lock` and in the environment.
#pragma once

#include <string>
#include <vector>

#include "config/src/store_types.hpp"

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

}  // namespace tenure::cli
