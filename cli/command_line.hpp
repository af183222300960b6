// What both parsers of the command line share: help that is written by hand, and faults in words of our own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace tenure::cli {

/// The texts are written by hand; a test holds them against the options.
void useHelp(CLI::App& app, const char* text);

/// One of these words.
[[nodiscard]] CLI::Validator oneOf(std::vector<std::string> words);

/// As they are meant: `-c=FILE` is `--config=FILE`, and `help COMMAND` is `COMMAND --help`.
[[nodiscard]] std::vector<std::string> asMeant(std::vector<std::string> words);

/// What is wrong, in terms of what was `typed`, and what was probably meant. `app`: that was asked to parse it.
[[nodiscard]] std::string faultOf(const CLI::App& app, const CLI::ParseError& fault,
                                  const std::vector<std::string>& typed);

/// `name` is none of `commands`; it may be one of `others`, which are written as the user would type them.
[[nodiscard]] std::string unknownCommand(const std::string& name, const std::vector<std::string>& commands,
                                         const std::vector<std::string>& others);

/// Tells it, and where help is. `command`: as typed after `tenure`, or empty. The exit code.
[[nodiscard]] int refuse(const std::string& message, std::string_view command);

}  // namespace tenure::cli
