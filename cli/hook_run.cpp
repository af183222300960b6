#include "hook_run.hpp"

#include <algorithm>
#include <csignal>

#include "config/src/duration.hpp"

namespace tenure::cli {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

std::vector<std::string> hookCommand(const std::string& command) { return {"/bin/sh", "-c", command}; }

HookRun::HookRun(std::string name, const JobSpec& spec, nanoseconds timeout, const SignalState& signals,
                 const Instant& now)
    : name_{std::move(name)}, timeout_{timeout}, job_{Job::start(spec, signals)}, began_{now} {
  job_.openBarrier();
}

/// After SIGKILL it is asked often, because a process may take a moment to end.
nanoseconds HookRun::untilWake(const Instant& now) const {
  if (timedOut_) return milliseconds{20};
  return std::max(timeout_ - elapsedForHolder(began_, now), nanoseconds{0});
}

void HookRun::act(const Instant& now) {
  if (status_) return;
  status_ = job_.status();
  if (status_ || elapsedForHolder(began_, now) < timeout_) return;
  timedOut_ = true;
  kill();
  status_ = job_.status();
}

void HookRun::kill() noexcept { signalGroup(job_.group(), SIGKILL); }

std::string HookRun::text() const {
  const std::string who = "hook " + name_ + ' ';
  if (timedOut_) {
    return who + "was killed after " + durationText(std::chrono::duration_cast<milliseconds>(timeout_)) +
           ", its time limit (hooks.timeout)";
  }
  return who + (status_ ? status_->text() : "runs");
}

}  // namespace tenure::cli
