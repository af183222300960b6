// The command line: which command it names, and what is wrong with it.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "command.hpp"

namespace tenure::cli {

struct Chosen {
  const Command* command;
  Run run;
};

/// The command that the words name, or the exit code if there is nothing more to do: help or the version was printed,
/// or a fault was reported on stderr. With --json, keepErrors() holds from here on. `words` has no program name.
[[nodiscard]] std::variant<Chosen, int> parse(const std::vector<Command>& commands, std::vector<std::string> words);

/// Prints the message, and where help is. `command`: as typed after `tenure`, or empty. Returns the exit code.
[[nodiscard]] int refuse(const std::string& message, std::string_view command);

}  // namespace tenure::cli
