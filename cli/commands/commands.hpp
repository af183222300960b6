// The commands of the program. Each returns the exit code of the program and reports its errors on stderr.
#pragma once

#include "cli/arguments.hpp"
#include "cli/signals.hpp"
#include "lockcore/port/lease_store.hpp"

namespace tenure::cli {

[[nodiscard]] int runCommand(const RunArguments& arguments, const SignalState& signals);
[[nodiscard]] int statusCommand(const StatusArguments& arguments, const SignalState& signals);
[[nodiscard]] int checkCommand(const CheckArguments& arguments);
[[nodiscard]] int doctorCommand(const DoctorArguments& arguments);
[[nodiscard]] int initCommand(const InitArguments& arguments);
[[nodiscard]] int resignCommand(const ResignArguments& arguments);
[[nodiscard]] int pauseCommand(const PauseArguments& arguments);
[[nodiscard]] int resumeCommand(const ResumeArguments& arguments);
[[nodiscard]] int historyCommand(const HistoryArguments& arguments);
[[nodiscard]] int watchCommand(const WatchArguments& arguments, const SignalState& signals);
[[nodiscard]] int jobsCommand(const JobsArguments& arguments);
[[nodiscard]] int jobsForgetCommand(const JobsForgetArguments& arguments);
[[nodiscard]] int storeSqlCommand(const StoreSqlArguments& arguments);
[[nodiscard]] int fenceInstallSqlCommand(const FenceInstallSqlArguments& arguments);
[[nodiscard]] int fenceRecoverCommand(const FenceRecoverArguments& arguments);
[[nodiscard]] int fenceProxyCommand(const FenceProxyArguments& arguments, const SignalState& signals);

[[nodiscard]] int lockCommand(const LockArguments& arguments, const SignalState& signals);
/// Parts of it: `tenure lock list` and `tenure lock prune`.
[[nodiscard]] int listLocks(const LockArguments& arguments, LeaseStore& store);
[[nodiscard]] int pruneLocks(const LockArguments& arguments, LeaseStore& store);

}  // namespace tenure::cli
