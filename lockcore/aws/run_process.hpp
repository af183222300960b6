// Runs a command and collects what it prints.
#pragma once

#include <chrono>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include <boost/system/result.hpp>

#include <tenure/lockcore/store_error.hpp>

namespace tenure::aws {

struct ProcessOutput {
  std::string out{};
  std::string err{};
  int exitCode{0};
  int signal{0};  ///< the signal that ended it, or 0
};

/// Runs the program `words.front()`, looked for in PATH, with the other words as its arguments, as botocore does: no
/// shell sees them. Its environment is `variables`, its input /dev/null. When the time is over or `stop` is requested,
/// the command and its whole process group are killed. Only the first 64 KiB of each output are kept. An error
/// (errorClass credentials) says why there is no output: not started, time over, stopped, or an exit status that other
/// code took or that the kernel did not keep (SIGCHLD is ignored). In the last two cases a command that outlives its
/// time is not killed. Two seconds after the kill a command that still runs, as a setuid program may, is left alone,
/// and the error names it. Its status is nobody's then: when it ends, it stays a zombie until this program ends.
[[nodiscard]] StoreResult<ProcessOutput> runProgram(std::vector<std::string> words,
                                                    const std::map<std::string, std::string>& variables,
                                                    std::chrono::milliseconds timeout, const std::stop_token& stop);

}  // namespace tenure::aws
