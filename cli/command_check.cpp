#include "command_check.hpp"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "exec_image.hpp"
#include "exit_codes.hpp"

namespace tenure::cli {
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
  return line.substr(begin, line.find_first_of(" \t\r", begin) - begin);
}

std::optional<CommandFault> faultOfScript(const std::string& path) {
  const std::string interpreter = interpreterOf(path);
  std::error_code error;
  if (interpreter.empty() || fs::exists(interpreter, error) || error) return std::nullopt;
  return CommandFault{path + ": its first line names the interpreter " + interpreter + ", which does not exist",
                      exitNotFound};
}

CommandFault faultOfPath(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return {path + " is a directory, not a program", exitNotExecutable};
  if (!fs::exists(path, error) && !error) return {path + ": there is no such file", exitNotFound};
  return {path + " is not executable; allow it with: chmod +x " + path, exitNotExecutable};
}

}  // namespace

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
