// Checks whether a command can be executed, before anything is done for it.
#pragma once

#include <optional>
#include <string>

namespace tenure::cli {

struct CommandFault {
  std::string message;  ///< names the file, what is wrong with it and what to do
  int exitCode{};       ///< exitNotFound or exitNotExecutable
};

/// A fault that would certainly prevent its execution now; a later execve may find more. `name`: as in
/// JobSpec::command, not empty.
[[nodiscard]] std::optional<CommandFault> faultOfCommand(const std::string& name);

}  // namespace tenure::cli
