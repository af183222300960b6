// The command line of `tenure lock` as data.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tenure::cli {

/// The beginning of a lock token; no name of a lock that a user types begins like this.
inline constexpr std::string_view lockTokenPrefix = "tenure-lock:";

/// The store, as words and environment name it: withEnvironment() of lock_store.hpp.
struct LockStoreArguments {
  std::string config{};
  std::string store{};
  std::map<std::string, std::string, std::less<>> values{};  ///< by key, such as "store.path"; empty: not given
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

/// As parseArguments, for the words after `lock`; `command`: the words after `--`, if it was given.
[[nodiscard]] std::variant<LockArguments, int> parseLockArguments(
    std::vector<std::string> words, const std::optional<std::vector<std::string>>& command);

}  // namespace tenure::cli
