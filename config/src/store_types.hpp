// What there is to know of each store: a row for each alternative of StoreConfig, from its file under stores/.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "key_spec.hpp"

namespace tenure::config {

struct StoreType {
  std::string name;   ///< as in `store.type`; empty: this build is without the store
  std::string about;  ///< when to use it, in a sentence
  StoreConfig defaults;
  std::vector<KeySpec> keys;  ///< besides `store.type`; only called while `defaults`' alternative is held
  bool ofOneProcess{false};   ///< other processes do not see it, so they neither compete nor wait for a lock
  /// What the options' own check finds. Without side effects.
  std::function<OptionFaults(const StoreConfig& store)> faults;
  /// Makes relative paths relative to `directory`.
  std::function<void(StoreConfig& store, const std::filesystem::path& directory)> resolvePaths =
      [](StoreConfig&, const std::filesystem::path&) {};
  std::function<std::shared_ptr<LeaseStore>(const StoreConfig& store, Logger logger)> make;
};

/// Of the stores that this build has, in the order of StoreConfig.
[[nodiscard]] const std::vector<StoreType>& storeTypes();

/// The row for the alternative that `store` holds.
[[nodiscard]] const StoreType& typeOf(const StoreConfig& store);

/// The row of the store with these options. Each file under stores/ has one.
template <typename Options>
[[nodiscard]] StoreType storeType();

}  // namespace tenure::config
