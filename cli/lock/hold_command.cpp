// `tenure lock hold`: runs a command while a lock is held.
#include <filesystem>
#include <string>

#include "cli/commands.hpp"
#include "cli/group/store_calls.hpp"
#include "cli/run/supervisor.hpp"
#include "cli/text/lease_view.hpp"
#include "cli/text/output.hpp"
#include "lock_arguments.hpp"
#include "lock_store.hpp"
#include "lock_view.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure::cli {
namespace {

/// After a wait that ended because somebody else has the lock: who, and for how long. The wait of the user is over, so
/// the store gets little time to say it.
void nameHolderAfterWait(const Group& group) {
  const ReadOutcome found = readNow(*group.store(), group.key(), unansweredTime);
  if (!found || !isHeld(*found)) return;
  const std::string age = ageText((*found)->acquiredAtMillis);
  if (!age.empty()) complain("lock " + toString(group.key()) + " of " + shown((*found)->holder) + ": " + age);
}

/// `tenure run --once` for the group that these arguments describe.
int hold(const LockArguments& arguments, const SignalState& signals) {
  const auto config = lockConfigOrComplain(arguments);
  if (!config) return exitUsage;
  if (!arguments.sort.empty())
    return complain("hold takes no --sort: the whole table's value is store.sort_key_value"), exitUsage;
  SupervisorOptions options;
  options.command = arguments.command;
  options.once = true;
  options.wait = arguments.wait;
  options.namesHolder = true;
  if (!arguments.store.config.empty()) {
    options.configFile = std::filesystem::absolute(arguments.store.config).string();
  }
  Supervisor supervisor{*config, options, signals};
  const int code = supervisor.run();
  if (code == exitBusy) nameHolderAfterWait(supervisor.group());
  return code;
}

void declareHold(Options& options, LockArguments& to) {
  declareStore(options, to);
  declareKey(options, to)
      .duration("--wait DURATION", to.wait, "how long to wait; 0s: try once (default: no limit)")
      .duration("--lease DURATION", to.lease, "how long the lock outlasts its last renewal (default 30s)")
      .duration("--heartbeat DURATION", to.heartbeat, "how often it is renewed (default: a third of the lease)")
      .text("--owner NAME", to.owner, "a name for people (default: the host's)");
  // Hidden, because hold() only takes --sort to say what to do without it: the other commands have it.
  declareSort(options, to).hidden().job(to.command, "tenure lock hold nightly --path locks.db -- ./job");
}

}  // namespace

Command lockHoldCommand() {
  return {
      .name = "lock hold",
      .summary = "run a command while a lock is held; like flock(1)",
      .about =
          R"(Waits for the lock, runs COMMAND once, renews meanwhile, and releases when COMMAND and all its processes have ended.
If the lock is lost, COMMAND gets SIGTERM, and SIGKILL when the lease ends. It is "tenure run --once" for a lock without
a file: the environment, the signals and the guard are the same, and so is TENURE_FENCING_TOKEN, with which COMMAND
should stamp what it writes.)",
      .more = "The exit code is that of COMMAND (128 + N if signal N ended it, or ended the wait for the lock), or:",
      .exits = {{"1", "no process can be started for COMMAND"},
                {"2", "wrong arguments or configuration"},
                {"81", "the lock was lost while COMMAND ran, and it was ended"},
                {"82", "--wait: another owner holds the lock"},
                {"83", "--wait: the store cannot be reached, or it can never be used"},
                {"86", "--wait: it is not known whether a write arrived"},
                {"126", "COMMAND cannot be executed"},
                {"127", "COMMAND was not found"}},
      .examples = {"tenure lock hold nightly --path locks.db --wait 0s -- ./backup.sh"},
      .options = optionsOf<LockArguments>(declareHold, hold),
      .holds = true,
  };
}

}  // namespace tenure::cli
