#include "commands.hpp"

namespace tenure::cli {

std::vector<Command> commands() {
  const Command program{
      .name = "",
      .summary = "leader election: of several copies of a program, at most one acts",
      .more = "Each command's help lists its own exit codes. The whole manual is docs/reference/program.md.",
      .exits = {{"0", "done"}, {"1", "failed"}},
      .examples = {"tenure init group.yaml", "tenure check --config group.yaml",
                   "tenure run --config group.yaml -- ./job       (in two or more terminals)",
                   "tenure status --config group.yaml"},
  };
  return {program,
          initCommand(),
          checkCommand(),
          doctorCommand(),
          runCommand(),
          lockCommand(),
          lockAcquireCommand(),
          lockRenewCommand(),
          lockReleaseCommand(),
          lockHoldCommand(),
          lockShowCommand(),
          lockListCommand(),
          lockPruneCommand(),
          statusCommand(),
          resignCommand(),
          pauseCommand(),
          resumeCommand(),
          historyCommand(),
          watchCommand(),
          jobsCommand(),
          jobsForgetCommand(),
          storeCommand(),
          storeSqlCommand(),
          fenceCommand(),
          fenceInstallSqlCommand(),
          fenceProxyCommand(),
          fenceRecoverCommand()};
}

}  // namespace tenure::cli
