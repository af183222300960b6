// What the supervisor tells the service manager, in the words of `systemctl status`.
#include <tenure/election/listener.hpp>
#include <tenure/lockcore/candidate_id.hpp>

#include "lockcore/port/quoted_text.hpp"
#include "supervisor.hpp"

namespace tenure::cli {
namespace {

/// Beyond what LeaderElector::stop() may take: for the end of this process itself.
constexpr std::chrono::seconds endOfProcess{2};

}  // namespace

/// Ready means: it competes. A standby is as ready as a leader, or an update that waits for one copy after the other
/// would never end. A store that is out of service is waited for, so this is no failed start either.
void Supervisor::tellService(const Instant& now) {
  if (!exitCode_ && (firstContact_.isMade() || waitTold_)) service_.ready();
  service_.status(serviceText());
  if (exitCode_ || stopAskedAt_) {
    const auto& timing = group_.timing();
    const auto hook = options_.hooks.onRevoked.empty() ? std::chrono::milliseconds{0} : options_.hooks.timeout;
    service_.stopping(timing.drainTimeout() + timing.duration() + hook + endOfProcess);
  }
  service_.act(now);
}

std::string Supervisor::serviceText() const {
  if (exitCode_ || stopAskedAt_) return job_ ? "draining" : "stopping";
  if (term_ && term_->leads()) {
    return "leading group " + group_.name() + ", token " + toString(term_->fencingToken()) +
           (inDoubt_ ? ", in doubt" : "");
  }
  if (term_ || job_) return "draining";
  if (pausedAt_) return "pausing after a job that has ended";
  if (!firstContact_.isMade()) return "waiting for the store";
  if (!leader_ || leader_->self) return "standing by, nobody leads";
  if (pauseIn(leader_->holder)) return "standing by, the group is paused";
  return "standing by, " + shown(nameOf(leader_->holder), mostOfHolder) + " leads";
}

}  // namespace tenure::cli
