// How an operator's command gets the lease of a group for itself.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/lock_error.hpp>

#include "cli/group/config_file.hpp"

namespace tenure::cli {

/// Tries to take the lease for this long. LockErrc::held and timeout: somebody else has it.
using LeaseAttempt = std::function<LockResult<void>(std::chrono::milliseconds)>;

/// The exit code if a pause has the lease: nobody but tenure resume may end it. It was reported on stderr.
[[nodiscard]] std::optional<int> refusedByPause(const std::optional<LeaseRecord>& record);

/// Empty: it was asked, or this term has just ended. Else the reason was reported on stderr. `left`: of the command's
/// wait.
[[nodiscard]] std::optional<int> askToStepDown(const LeaseOfGroup& lease, const LeaseRecord& leader,
                                               std::chrono::nanoseconds left, const Successor& successor = {});

/// Asks whoever leads to step down, and tries to take the lease when it is free, until it is taken or `wait` is over.
/// Candidates compete for it as well, so each new leader is asked again. A pause that it sees ends it: exitBusy.
/// exitOk: it is taken. Else the reason was reported on stderr. Blocks.
[[nodiscard]] int takeFromLeaders(const LeaseOfGroup& lease, std::chrono::milliseconds wait,
                                  const LeaseAttempt& attempt);

}  // namespace tenure::cli
