// The command line as data.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lock_arguments.hpp"

namespace tenure::cli {

struct RunArguments {
  std::string config;
  bool once{false};
  std::optional<std::chrono::milliseconds> wait{};
  std::vector<std::string> command;
};

struct StatusArguments {
  std::string config;
  bool json{false};
  bool watch{false};
};

struct CheckArguments {
  std::string config;
  bool connect{false};
  bool effective{false};
};

struct InitArguments {
  std::string file{"group.yaml"};  ///< "-": stdout
  bool force{false};
};

struct ResignArguments {
  std::string config;
  std::chrono::milliseconds wait{60'000};
};

struct FenceInstallSqlArguments {
  std::string dialect;  ///< postgresql or sqlite
  std::string table;
  std::string lease;
  std::string schema{};       ///< postgresql; empty: public
  std::string tokenColumn{};  ///< sqlite
};

using Arguments = std::variant<RunArguments, StatusArguments, CheckArguments, InitArguments, ResignArguments,
                               LockArguments, FenceInstallSqlArguments>;

/// The arguments, or the exit code if there is nothing left to do: help or the version was printed, or a fault was
/// told on stderr. `words` has no program name.
[[nodiscard]] std::variant<Arguments, int> parseArguments(std::vector<std::string> words);

}  // namespace tenure::cli
