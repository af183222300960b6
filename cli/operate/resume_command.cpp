// `tenure resume`: ends a pause.
#include <algorithm>
#include <chrono>
#include <string>

#include <tenure/election/listener.hpp>
#include <tenure/lockcore/lock_tokens.hpp>

#include "cli/commands.hpp"
#include "cli/group/config_file.hpp"
#include "cli/group/store_calls.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/lease_view.hpp"
#include "cli/text/output.hpp"
#include "cli/text/pause_text.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;

/// If this program is killed between the two writes, the pause ends by itself soon.
constexpr milliseconds lastLease{10'000};

struct ResumeArguments {
  std::string config;
};

int failed(const LockError& error) { return complain(error.message), exitCodeOf(error); }

int release(const LeaseOfGroup& lease, const LeaseRecord& record, const Pause& pause) {
  LockTokens tokens{lease.store};
  const auto token =
      tokens.resume(lease.key, record.holder, {.lease = std::min(record.leaseDuration, lastLease), .anyHistory = true});
  if (!token) return failed(token.error());
  if (const auto released = tokens.release(*token); !released) return failed(released.error());
  const std::string line =
      toString(lease.key) + " is no longer " + toString(pause) + "; a candidate that runs is elected\n";
  return say(line) ? exitOk : exitFailed;
}

int execute(const ResumeArguments& arguments) {
  const auto config = loadUnshardedOrComplain(arguments.config);
  if (!config) return exitUsage;
  const LeaseOfGroup lease = leaseOf(*config);
  const std::string name = toString(lease.key);
  const StoreResult<LeaseLook> look = lookNow(*lease.store, lease.key);
  if (!look) return complain(faultText(*lease.store, look.error())), exitStore;
  if (!look->warning.empty()) complain("lease " + name + ": " + look->warning);
  if (const auto pause = pauseOf(look->record)) return release(lease, *look->record, *pause);
  const bool held = isHeld(look->record);
  complain(name + " is not paused; " +
           (held ? whoHas(name, look->record->holder, look->record->token) : std::string{"there is no leader"}));
  return exitNobody;
}

}  // namespace

Command resumeCommand() {
  return {
      .name = "resume",
      .summary = "end a pause",
      .about = "Releases the lease that tenure pause took, so that a candidate is elected.",
      .exits = {{"0", "the pause has ended"},
                {"81", "the pause was changed or ended by another user at the same moment"},
                {"83", "the store cannot be reached"},
                {"84", "the group is not paused"},
                {"86", "it is not known whether a write arrived: see tenure status"}},
      .examples = {"tenure resume --config group.yaml"},
      .options = optionsOf<ResumeArguments>([](Options& options, ResumeArguments& to) { options.groupFile(to.config); },
                                            execute),
  };
}

}  // namespace tenure::cli
