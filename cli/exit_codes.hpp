// The exit codes of the tenure program; docs/reference/program.md has the same table.
#pragma once

#include <tenure/election/group.hpp>

namespace tenure::cli {

/// 80 to 86 are free of the codes of sysexits.h (64-78), of timeout(1) (124, 125) and of shells (126 and up), so that
/// under `run --once` they rarely mean something to the job as well.
enum ExitCode : int {
  exitOk = 0,
  exitFailed = 1,                 ///< trouble that has no code of its own, told on stderr
  exitUsage = 2,                  ///< wrong arguments, or a configuration file with faults
  exitTerminated = lostExitCode,  ///< on_lost: terminate; the work did not end in time (80)
  exitLost = 81,            ///< run --once: leadership was lost while the job ran, which was ended; lock: it was lost
  exitBusy = 82,            ///< run --wait: somebody else led all the time; lock: somebody else holds it
  exitStore = 83,           ///< the store cannot be reached, or refused
  exitNobody = 84,          ///< status, resign: nobody leads; lock show: nobody holds it
  exitNotYet = 85,          ///< resign --wait: the leader had not stepped down in time; lock: the time was over
  exitUnknown = 86,         ///< the time was over while a write was not answered: what became of it is not known
  exitNotExecutable = 126,  ///< run: COMMAND is there but cannot be executed
  exitNotFound = 127,       ///< run: COMMAND was not found
};

static_assert(exitTerminated == 80);

}  // namespace tenure::cli
