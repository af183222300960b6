#include "exec_image.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "cli/text/environment.hpp"
#include "cli/text/exit_codes.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/runtime/system_error.hpp"

namespace tenure::cli {
namespace {

std::vector<std::string> mergedEnvironment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text{*entry};
    if (!added.contains(text.substr(0, text.find('=')))) out.push_back(text);
  }
  for (const auto& [name, value] : added) out.emplace_back(name).append("=").append(value);
  return out;
}

std::vector<char*> pointersTo(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

/// The slot after the shell held the command's name. It is for the path at which the file was found.
std::vector<char*> shellArguments(std::vector<char*> argv) {
  static char shell[] = "/bin/sh";
  argv.insert(argv.begin(), shell);
  return argv;
}

}  // namespace

ExecImage::ExecImage(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment)
    : arguments_{command},
      environment_{mergedEnvironment(environment)},
      candidates_{candidatesFor(command.front())},
      argv_{pointersTo(arguments_)},
      shellArgv_{shellArguments(argv_)},
      envp_{pointersTo(environment_)} {}

std::vector<std::string> ExecImage::candidatesFor(const std::string& name) {
  if (name.find('/') != std::string::npos) return {name};
  const std::string path = environmentText("PATH");
  std::vector<std::string> out;
  std::string_view directories = path.empty() ? "/usr/local/bin:/usr/bin:/bin" : std::string_view{path};
  for (;;) {
    const std::string directory{directories.substr(0, directories.find(':'))};
    out.push_back((directory.empty() ? "." : directory) + '/' + name);
    if (directory.size() == directories.size()) return out;
    directories.remove_prefix(directory.size() + 1);
  }
}

int ExecImage::execute() noexcept {
  int best = ENOENT;
  for (std::string& candidate : candidates_) {
    execve(candidate.c_str(), argv_.data(), envp_.data());
    if (errno == ENOEXEC) {
      shellArgv_[1] = candidate.data();
      execve(shellArgv_[0], shellArgv_.data(), envp_.data());
    }
    if (errno == EACCES) {
      best = EACCES;
    } else if (errno != ENOENT && errno != ENOTDIR) {
      return errno;
    }
  }
  return best;
}

namespace {

namespace fs = std::filesystem;

constexpr std::size_t longestFirstLine = 256;  // as the kernel reads it (BINPRM_BUF_SIZE)

bool isFile(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool isExecutable(const std::string& path) { return isFile(path) && access(path.c_str(), X_OK) == 0; }

/// The program that the first line of a script names, or empty.
std::string interpreterOf(const std::string& path) {
  std::string line(longestFirstLine, '\0');
  std::ifstream file{path, std::ios::binary};
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  if (!line.starts_with("#!")) return {};
  line = line.substr(2, line.find('\n') - 2);
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_first_of(" \t", begin) - begin);
}

std::optional<CommandFault> faultOfScript(const std::string& path) {
  const std::string interpreter = interpreterOf(path);
  std::error_code error;
  if (interpreter.empty() || fs::exists(interpreter, error) || error) return std::nullopt;
  return CommandFault{path + ": its first line names the interpreter " + shown(interpreter) + ", which does not exist",
                      exitNotFound};
}

CommandFault faultOfPath(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return {path + " is a directory, not a program", exitNotExecutable};
  if (!fs::exists(path, error)) {
    return error ? CommandFault{path + " cannot be examined: " + errnoText(error), exitNotExecutable}
                 : CommandFault{path + ": there is no such file", exitNotFound};
  }
  return {path + " is not executable; allow it with: chmod +x " + path, exitNotExecutable};
}

}  // namespace

int exitCodeOfExec(int error) noexcept {
  for (const int passing : {ETXTBSY, EAGAIN, ENOMEM, ENFILE, EMFILE, EIO, ESTALE, ETIMEDOUT}) {
    if (error == passing) return exitFailed;
  }
  return error == ENOENT ? exitNotFound : exitNotExecutable;
}

std::optional<CommandFault> faultOfCommand(const std::string& name) {
  const auto candidates = ExecImage::candidatesFor(name);
  std::optional<std::string> there;
  for (const std::string& candidate : candidates) {
    if (isExecutable(candidate)) return faultOfScript(candidate);
    if (isFile(candidate) && !there) there = candidate;
  }
  if (name.find('/') != std::string::npos) return faultOfPath(name);
  if (there) return faultOfPath(*there);
  const std::string beside = "./" + name;
  return CommandFault{name + ": there is no such command in PATH" +
                          (isFile(beside) ? "; for the file in this directory write " + beside : ""),
                      exitNotFound};
}

}  // namespace tenure::cli
