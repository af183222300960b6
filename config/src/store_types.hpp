// The table of store types. A new type needs an alternative of StoreConfig, a file under stores/, and a row in the
// table.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "key_spec.hpp"

namespace tenure::config {

struct StoreType {
  std::string name;   ///< as in `store.type`
  std::string about;  ///< when to use it, in a sentence
  StoreConfig defaults;
  std::vector<KeySpec> keys;  ///< besides `store.type`; only called while `defaults`' alternative is held
  /// What the options' own check finds. Without side effects.
  std::function<OptionFaults(const StoreConfig& store)> faults;
  /// Makes relative paths relative to `directory`.
  std::function<void(StoreConfig& store, const std::filesystem::path& directory)> resolvePaths;
  std::function<std::shared_ptr<LeaseStore>(const StoreConfig& store, Logger logger)> make;
};

[[nodiscard]] const std::vector<StoreType>& storeTypes();

/// The row for the alternative that `store` holds.
[[nodiscard]] const StoreType& typeOf(const StoreConfig& store);

// The rows.
[[nodiscard]] StoreType memoryStoreType();
[[nodiscard]] StoreType sqliteStoreType();
[[nodiscard]] StoreType dynamodbStoreType();  ///< if it is built

}  // namespace tenure::config
