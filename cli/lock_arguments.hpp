// The command line of `tenure lock` as data.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tenure::cli {

/// What a lock token begins with, and no name of a lock that is typed.
inline constexpr std::string_view lockTokenPrefix = "tenure-lock:";

/// Which store, as words and environment give it; see lock_store.hpp for what counts.
struct LockStoreArguments {
  std::string config;
  std::string store, path;                       ///< sqlite
  std::string table, region, endpoint, profile;  ///< dynamodb
  std::string partitionKey, sortKey;             ///< dynamodb: names of attributes
};

struct LockArguments {
  enum class Action { acquire, renew, release, show, list, prune, hold };

  Action action{Action::acquire};
  LockStoreArguments store{};
  std::string target{};  ///< KEY, TOKEN or PREFIX
  std::string sort{};    ///< of the key, where the table has a sort key
  std::optional<std::chrono::milliseconds> wait{}, lease{}, heartbeat{}, watch{}, abandoned{};
  std::string owner{}, data{};
  std::map<std::string, std::string> attributes{};
  bool json{false};
  bool yes{false};
  std::vector<std::string> command{};
};

/// As parseArguments, for the words after `lock`; `command`: what stood after `--`, if that was there.
[[nodiscard]] std::variant<LockArguments, int> parseLockArguments(
    std::vector<std::string> words, const std::optional<std::vector<std::string>>& command);

}  // namespace tenure::cli
