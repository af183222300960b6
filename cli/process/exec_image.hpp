// The execution of a command: what execve(2) needs, and whether it can succeed at all.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tenure::cli {

/// Everything execve(2) needs, laid out before the fork: a forked child of a threaded process may not allocate.
class ExecImage {
 public:
  /// `command` is not empty. A name without a slash is looked up in PATH, as execvp(3) does.
  ExecImage(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment);
  ExecImage(const ExecImage&) = delete;
  ExecImage& operator=(const ExecImage&) = delete;

  /// The files that this name may refer to, in the order in which they are tried.
  [[nodiscard]] static std::vector<std::string> candidatesFor(const std::string& name);

  /// Async-signal-safe. Returns only if it failed, with the errno that explains best why: EACCES if a file was found
  /// that may not be executed. A script without #! is given to /bin/sh.
  [[nodiscard]] int execute() noexcept;

 private:
  std::vector<std::string> arguments_;
  std::vector<std::string> environment_;
  std::vector<std::string> candidates_;
  std::vector<char*> argv_;       ///< ends with null
  std::vector<char*> shellArgv_;  ///< /bin/sh, a slot for the candidate, the arguments
  std::vector<char*> envp_;
};

/// The exit code that tells of an errno of execve(2): exitNotFound, exitNotExecutable, or exitFailed if a later attempt
/// may succeed. Async-signal-safe.
[[nodiscard]] int exitCodeOfExec(int error) noexcept;

struct CommandFault {
  std::string message;  ///< names the file, what is wrong with it and what to do
  int exitCode{};       ///< exitNotFound or exitNotExecutable
};

/// A fault that would certainly prevent its execution now; a later execve may find more. `name`: as in
/// JobSpec::command, not empty.
[[nodiscard]] std::optional<CommandFault> faultOfCommand(const std::string& name);

}  // namespace tenure::cli
