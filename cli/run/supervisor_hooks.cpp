// The hooks of a group's file, run by the supervisor. None of them is waited for by a thread that renews.
//
// on_elected runs in place of the job, so the guard watches it as it watches a job. on_renewed is marked as a part of
// the job, so whoever ends the job ends it too. on_revoked runs when both are gone; the work of the term lasts until it
// has ended, so no release and no next term comes before that.
#include <algorithm>
#include <exception>
#include <utility>

#include "cli/process/job_processes.hpp"
#include "cli/text/output.hpp"
#include "supervisor.hpp"

namespace tenure::cli {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

constexpr milliseconds lookWhileHolding{100};
constexpr milliseconds lookWhileDying{20};  // a process may take a moment to die

std::string millis(nanoseconds time) {
  return std::to_string(std::chrono::duration_cast<milliseconds>(std::max(time, nanoseconds{0})).count());
}

}  // namespace

/// Until nothing may act under this term any more, as the guard knows it.
nanoseconds Supervisor::untilInvalid(const Instant& now) const {
  return std::max(untilKill(now, channel_.term(), std::nullopt, nanoseconds{0}), nanoseconds{0});
}

/// The end of validity by a clock that other programs can read (CLOCK_BOOTTIME, /proc/uptime), because a hook may be
/// held up after it was started.
JobSpec Supervisor::hookSpec(const std::string& command) const {
  JobSpec spec = termSpec();
  spec.command = hookCommand(command);
  const Instant now = readClock();
  const nanoseconds left = untilInvalid(now);
  spec.environment["TENURE_REMAINING_MS"] = millis(left);
  spec.environment["TENURE_VALID_UNTIL_MS"] = millis(now.boottime + left);
  if (job_) spec.environment[jobVariable] = job_->mark();
  return spec;
}

void Supervisor::startElected() {
  jobBegan_ = readClock();
  publisher_.publish(*term_);
  electedIsLate_ = false;
  try {
    job_ = std::make_unique<JobRun>(hookSpec(options_.hooks.onElected), jobDrainTimeout(group_.timing()), channel_,
                                    guard_, signalState_, logger_, "hook on_elected");
    electing_ = true;
    logger_.log(LogLevel::info, "hook on_elected starts as process " + std::to_string(job_->id()),
                LogEvent::hookStarted, {{"hook", "on_elected"}, {"token", term_->fencingToken()}});
  } catch (const std::exception& error) {
    const bool over = tellNotStarted("hook on_elected", error);
    endTerm();
    if (options_.once) return leave(over ? exitLost : exitFailed);
    if (!over) pauseAndCompete(true, "hook on_elected did not start");
  }
}

/// Nothing of it is left. A term that cannot do what belongs to it is one for another candidate.
void Supervisor::endElected() {
  electing_ = false;
  const ExitStatus status = job_->status().value_or(ExitStatus{});
  const bool failed = !job_->wasStopped() && (electedIsLate_ || status.shellCode() != 0);
  const bool stopped = job_->wasStopped();
  logger_.log(LogLevel::info, job_->who() + ' ' + status.text(), LogEvent::hookEnded,
              {{"hook", "on_elected"}, {"exit_code", status.shellCode()}});
  job_.reset();
  const bool leads = term_->leads() && !exitCode_;
  if (leads && !failed && !stopped) return beginWork();
  if (failed) {
    complain("hook on_elected " + (electedIsLate_ ? "took longer than hooks.timeout" : status.text()) +
             "; the job is not started");
  }
  endTerm();
  if (exitCode_) return;
  if (options_.once) {
    if (!failed) complain("leadership ended before the job was started");
    return leave(failed ? exitFailed : exitLost);
  }
  if (leads) pauseAndCompete(true, failed ? "hook on_elected failed" : "the guard ended hook on_elected");
}

void Supervisor::startRenewed(FencingToken token) {
  if (!term_ || term_->fencingToken() != token || electing_ || endsTerm() || renewing_) return;
  try {
    renewing_ = std::make_unique<HookRun>("on_renewed", hookSpec(options_.hooks.onRenewed), options_.hooks.timeout,
                                          signalState_, readClock(), &channel_);
  } catch (const std::exception& error) {
    if (!std::exchange(renewalHookFails_, true)) {
      complain(std::string{"hook on_renewed cannot be started: "} + error.what());
    }
  }
}

/// One line for each row of failures, because renewals are many.
void Supervisor::endRenewed() {
  if (renewing_->succeeded()) {
    renewalHookFails_ = false;
  } else if (term_ && term_->leads() && !std::exchange(renewalHookFails_, true)) {
    complain(renewing_->text());
  }
  renewing_.reset();
}

void Supervisor::startRevoked() {
  publisher_.publish(*term_);
  try {
    revoking_ = std::make_unique<HookRun>("on_revoked", hookSpec(options_.hooks.onRevoked), options_.hooks.timeout,
                                          signalState_, readClock(), nullptr);
    logger_.log(LogLevel::info, "hook on_revoked starts", LogEvent::hookStarted,
                {{"hook", "on_revoked"}, {"token", term_->fencingToken()}});
  } catch (const std::exception& error) {
    complain(std::string{"hook on_revoked cannot be started: "} + error.what() +
             "; the lease is not released, it expires by itself");
    holding_ = true;
  }
}

/// What it should have undone may still act, so nobody else may lead as long as this term is valid.
void Supervisor::endRevoked() {
  const auto hook = std::exchange(revoking_, nullptr);
  logger_.log(LogLevel::info, hook->text(), LogEvent::hookEnded,
              {{"hook", "on_revoked"}, {"exit_code", hook->status()->shellCode()}});
  if (hook->succeeded()) return dropTerm();
  holding_ = term_->isValid();
  complain(hook->text() + (holding_ ? "; the lease is not released, it expires by itself" : ""));
  if (!holding_) dropTerm();
}

/// Before the job acts: it may be the hook on_elected.
void Supervisor::actHooks(const Instant& now) {
  if (progress_ && term_ && (electing_ || revoking_)) term_->reportProgress();
  if (electing_ && !electedIsLate_ && elapsedForHolder(jobBegan_, now) >= options_.hooks.timeout) {
    electedIsLate_ = true;
    job_->hurry("it takes longer than hooks.timeout");
  }
  if (renewing_) {
    if (untilInvalid(now).count() == 0) renewing_->kill();
    renewing_->act(now);
    if (renewing_->status()) endRenewed();
  }
  if (revoking_) {
    revoking_->act(now);
    if (revoking_->status()) endRevoked();
  }
  if (holding_ && !term_->isValid()) {
    holding_ = false;
    dropTerm();
  }
}

std::optional<nanoseconds> Supervisor::untilHooks(const Instant& now) const {
  std::optional<nanoseconds> left;
  if (electing_ && !electedIsLate_) left = options_.hooks.timeout - elapsedForHolder(jobBegan_, now);
  if (progress_ && (electing_ || revoking_)) left = earlier(left, *group_.timing().progressTimeout() / 3);
  if (renewing_) {
    const nanoseconds valid = untilInvalid(now);
    left = earlier(earlier(left, renewing_->untilWake(now)), valid.count() > 0 ? valid : nanoseconds{lookWhileDying});
  }
  if (revoking_) left = earlier(left, revoking_->untilWake(now));
  if (holding_) left = earlier(left, lookWhileHolding);
  return left;
}

}  // namespace tenure::cli
