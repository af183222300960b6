#include <cerrno>
#include <fcntl.h>
#include <system_error>

#include "cli/exit_codes.hpp"
#include "cli/output.hpp"
#include "commands.hpp"
#include "config/src/config_keys.hpp"
#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::cli {
namespace {

int cannotWrite(const std::string& file) {
  const int error = errno;
  const bool exists = error == EEXIST;
  complain(file + ": " +
           (exists ? "is there already; give another name, or --force to replace it"
                   : "cannot be written: " + std::generic_category().message(error)));
  return exitFailed;
}

}  // namespace

int initCommand(const InitArguments& arguments) {
  const std::string sample = sampleGroupYaml();
  if (arguments.file == "-") return say(sample) ? exitOk : exitFailed;
  const int how = arguments.force ? O_TRUNC : O_EXCL;
  const UniqueFd file{open(arguments.file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0644)};
  if (!file) return cannotWrite(arguments.file);
  const ssize_t written = write(file.get(), sample.data(), sample.size());
  if (written >= 0 && static_cast<std::size_t>(written) < sample.size()) errno = ENOSPC;  // a part of it was written
  if (written != static_cast<ssize_t>(sample.size()) || fsync(file.get()) != 0) return cannotWrite(arguments.file);
  return say("wrote " + arguments.file + "; next: tenure check --config " + arguments.file + '\n') ? exitOk
                                                                                                   : exitFailed;
}

}  // namespace tenure::cli
