// What both parsers of the command line share: help texts written by hand, and error messages of our own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace tenure::cli {

/// The texts are written by hand; a test compares them with the options.
void useHelp(CLI::App& app, std::string text);

/// One of these words.
[[nodiscard]] CLI::Validator oneOf(std::vector<std::string> words);

/// A whole number within these bounds. Releases of CLI11 put their own into different words.
[[nodiscard]] CLI::Validator between(std::uint64_t low, std::uint64_t high);

/// The words as the user meant them: `-c=FILE` is `--config=FILE`, and `help COMMAND` is `COMMAND --help`.
[[nodiscard]] std::vector<std::string> asMeant(std::vector<std::string> words);

/// What is wrong, in terms of what was `typed`, and what was probably meant. `app`: the parser that was asked.
[[nodiscard]] std::string faultOf(const CLI::App& app, const CLI::ParseError& fault,
                                  const std::vector<std::string>& typed);

/// For a `name` that is none of `commands`. It may be one of `others`, which are written as the user would type them.
[[nodiscard]] std::string unknownCommand(const std::string& name, const std::vector<std::string>& commands,
                                         const std::vector<std::string>& others);

/// Prints the message, and where help is. `command`: as typed after `tenure`, or empty. Returns the exit code.
[[nodiscard]] int refuse(const std::string& message, std::string_view command);

}  // namespace tenure::cli
