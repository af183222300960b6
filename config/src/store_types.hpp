// The table of store types. A new one is: an alternative of StoreConfig, a file under stores/, a row in the table.
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
  std::vector<KeySpec> keys;  ///< besides `store.type`; called only while `defaults`' alternative is in place
  /// What is wrong with the values; touches nothing.
  std::function<OptionFaults(const StoreConfig& store)> faults;
  /// Makes relative paths start at `directory`.
  std::function<void(StoreConfig& store, const std::filesystem::path& directory)> resolvePaths;
  std::function<std::shared_ptr<LeaseStore>(const StoreConfig& store, Logger logger)> make;
};

[[nodiscard]] const std::vector<StoreType>& storeTypes();

/// The row of the alternative that `store` holds.
[[nodiscard]] const StoreType& typeOf(const StoreConfig& store);

// The rows.
[[nodiscard]] StoreType memoryStoreType();
[[nodiscard]] StoreType sqliteStoreType();
[[nodiscard]] StoreType dynamodbStoreType();  ///< where it is built

}  // namespace tenure::config
