// The files and directories of this machine that a store section names.
#pragma once

#include <string>
#include <vector>

#include <tenure/config/group_config.hpp>

namespace tenure::cli::doctor {

struct NamedPath {
  std::string what;  ///< the key of the configuration
  std::string path;

  friend bool operator==(const NamedPath&, const NamedPath&) = default;
};

struct StoreFiles {
  std::vector<NamedPath> secrets{};  ///< passwords, keys, tokens; each must exist
  std::string directoryKey{};        ///< empty: the store keeps nothing on this machine
  std::string directory{};
  bool hasSecrets{false};  ///< the process has some in its memory
  bool hasServer{false};   ///< it keeps connections to one

  friend bool operator==(const StoreFiles&, const StoreFiles&) = default;
};
/// Pure.
[[nodiscard]] StoreFiles filesOf(const StoreConfig& store);

}  // namespace tenure::cli::doctor
