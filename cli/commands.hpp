// The commands of the program: each is a function of its file.
#pragma once

#include <vector>

#include "command.hpp"

namespace tenure::cli {

/// All of them, in the order in which help shows them. A name stands before those that follow it.
[[nodiscard]] std::vector<Command> commands();

[[nodiscard]] Command initCommand();
[[nodiscard]] Command checkCommand();
[[nodiscard]] Command doctorCommand();
[[nodiscard]] Command runCommand();
[[nodiscard]] Command lockCommand();
[[nodiscard]] Command lockAcquireCommand();
[[nodiscard]] Command lockRenewCommand();
[[nodiscard]] Command lockReleaseCommand();
[[nodiscard]] Command lockHoldCommand();
[[nodiscard]] Command lockShowCommand();
[[nodiscard]] Command lockListCommand();
[[nodiscard]] Command lockPruneCommand();
[[nodiscard]] Command statusCommand();
[[nodiscard]] Command resignCommand();
[[nodiscard]] Command pauseCommand();
[[nodiscard]] Command resumeCommand();
[[nodiscard]] Command historyCommand();
[[nodiscard]] Command watchCommand();
[[nodiscard]] Command jobsCommand();
[[nodiscard]] Command jobsForgetCommand();
[[nodiscard]] Command storeCommand();
[[nodiscard]] Command storeSqlCommand();
[[nodiscard]] Command fenceCommand();
[[nodiscard]] Command fenceInstallSqlCommand();
[[nodiscard]] Command fenceProxyCommand();
[[nodiscard]] Command fenceRecoverCommand();

}  // namespace tenure::cli
