// The exit codes of the tenure program; docs/reference/program.md has the same table.
#pragma once

#include <array>
#include <stdexcept>
#include <string>

#include <tenure/election/group.hpp>
#include <tenure/lockcore/lock_error.hpp>

namespace tenure::cli {

/// 80 to 87 are not used by sysexits.h (64-78), by timeout(1) (124, 125) or by shells (126 and up), so under `run
/// --once` they rarely have a meaning for the job as well.
enum ExitCode : int {
  exitOk = 0,
  exitFailed = 1,                 ///< an error without a code of its own, reported on stderr
  exitUsage = 2,                  ///< wrong arguments, or a configuration file with faults
  exitTerminated = lostExitCode,  ///< on_lost: terminate; the work did not end in time (80)
  exitLost = 81,            ///< run --once: leadership was lost while the job ran, which was ended; lock: it was lost
  exitBusy = 82,            ///< run --wait: somebody else led all the time; lock: somebody else holds it
  exitStore = 83,           ///< the store cannot be reached, or refused
  exitNobody = 84,          ///< status, resign: nobody leads; resume: nothing is paused; lock show: nobody holds it
  exitNotYet = 85,          ///< resign, pause: the leader had not stepped down in time; lock: the time was over
  exitUnknown = 86,         ///< the time was over while a write was not answered; its outcome is not known
  exitFaults = 87,          ///< doctor: something makes elections misbehave, or impossible
  exitNotExecutable = 126,  ///< run: COMMAND is there but cannot be executed
  exitNotFound = 127,       ///< run: COMMAND was not found
};

static_assert(exitTerminated == 80);

/// Of `run`: what no restart changes, so a service manager must not start it again.
inline constexpr std::array permanentCodes{exitUsage, exitStore, exitNotExecutable, exitNotFound};

/// Thrown through a command to main(), which reports it and ends with the code.
struct EndWith : std::runtime_error {
  EndWith(const std::string& why, int exitCode) : std::runtime_error{why}, code{exitCode} {}
  int code;
};

/// For a lock or a lock token that could not be acquired, renewed or released.
[[nodiscard]] int exitCodeOf(const LockError& error);

}  // namespace tenure::cli
