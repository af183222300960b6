#include "hook_run.hpp"

#include <algorithm>
#include <csignal>

#include "config/src/duration.hpp"

namespace tenure::cli {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

std::vector<std::string> hookCommand(const std::string& command) { return {"/bin/sh", "-c", command}; }

HookRun::HookRun(std::string name, const JobSpec& spec, nanoseconds timeout, const SignalState& signals,
                 const Instant& now, GuardChannel* term)
    : name_{std::move(name)}, timeout_{timeout}, job_{Job::start(spec, signals, {term, false})}, began_{now} {
  job_.openBarrier();
}

/// After SIGKILL it is asked often, because a process may take a moment to end.
nanoseconds HookRun::untilWake(const Instant& now) const {
  if (dies_) return milliseconds{20};
  return std::max(timeout_ - elapsedForHolder(began_, now), nanoseconds{0});
}

void HookRun::act(const Instant& now) {
  if (status_) return;
  job_.look();
  const bool ended = job_.status().has_value();
  if (!ended && elapsedForHolder(began_, now) >= timeout_) timedOut_ = true;
  if (ended || timedOut_ || !job_.isReaped()) kill();
  if (job_.isOver()) status_ = job_.status();
}

void HookRun::kill() noexcept {
  dies_ = true;
  if (!job_.isOver()) job_.kill();
  job_.look();
}

std::string HookRun::text() const {
  const std::string who = "hook " + name_ + ' ';
  if (timedOut_) {
    return who + "was killed after " + durationText(std::chrono::duration_cast<milliseconds>(timeout_)) +
           ", its time limit (hooks.timeout)";
  }
  return who + (status_ ? status_->text() : "runs");
}

}  // namespace tenure::cli
