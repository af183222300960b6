// What Options fills for one command: the parser of its words, and what help says of them.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "command.hpp"

namespace tenure::cli {

struct Options::Target {
  struct Line {
    CLI::Option* option;
    std::string term;  ///< "-c, --config FILE"
    std::string about;
    std::string usage;  ///< "--config FILE"; empty: usage does not show it
    bool repeats{false};
    bool hidden{false};
    bool needed{false};
  };

  CLI::App& app;
  std::vector<Line> lines{};
  std::vector<Check> checks{};
  std::vector<const std::string*>
      files{};                      ///< where the group's file may be given, those of the command before included
  std::vector<std::string>* job{};  ///< where the words after `--` go; none: it takes no such words
};

/// What --help prints. `below`: the commands that follow this one's name.
[[nodiscard]] std::string helpOf(const Command& command, const Options::Target& target,
                                 const std::vector<const Command*>& below);

}  // namespace tenure::cli
