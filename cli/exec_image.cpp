#include "exec_image.hpp"

#include <cerrno>
#include <sstream>
#include <unistd.h>

#include "environment.hpp"

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
  std::istringstream directories{path.empty() ? "/usr/local/bin:/usr/bin:/bin" : path};
  for (std::string directory; std::getline(directories, directory, ':');) {
    if (directory.empty()) directory = ".";
    out.push_back(directory.append("/").append(name));
  }
  return out;
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

}  // namespace tenure::cli
