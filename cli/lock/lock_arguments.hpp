// What the commands of `tenure lock` have in common: their arguments, the options for the store, and their answers.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenure/lockcore/lock_tokens.hpp>

#include "cli/command.hpp"
#include "cli/text/exit_codes.hpp"

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
  bool takesLock{false};  ///< acquire and hold: `target` names it, and the options say how it is held
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

/// The options for the store, which `tenure lock --help` explains.
Options& declareStore(Options& options, LockArguments& to);
/// TOKEN, or KEY with --owner; the token may be in the environment.
Options& declareToken(Options& options, LockArguments& to);
Options& declareSort(Options& options, LockArguments& to);
/// The name of the lock, which has to be given.
Options& declareKey(Options& options, LockArguments& to);

[[nodiscard]] int answer(const std::string& text, int code = exitOk);
[[nodiscard]] int answerWithToken(const LockArguments& arguments, const LockToken& token);
/// Reports on stderr for people, and with --json on stdout for programs.
[[nodiscard]] int failed(const LockArguments& arguments, const LockError& error);

}  // namespace tenure::cli
