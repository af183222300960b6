#include "term_work.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <utility>

#include "cli/process/exec_image.hpp"
#include "cli/process/job_processes.hpp"
#include "cli/text/exit_codes.hpp"
#include "hook_run.hpp"
#include "lockcore/runtime/system_error.hpp"

namespace tenure::cli {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

constexpr milliseconds lookAtTerm{100};     // of whose changes nobody tells
constexpr milliseconds lookWhileDying{20};  // a process may take a moment to die
constexpr milliseconds timeToDie{1000};     // after SIGKILL; one that is left then may stay for ever

std::string millis(nanoseconds time) {
  return std::to_string(std::chrono::duration_cast<milliseconds>(std::max(time, nanoseconds{0})).count());
}

}  // namespace

TermWork::TermWork(Options options, Parts parts, TermProcesses processes, TermWorkEvents events)
    : options_{std::move(options)},
      parts_{std::move(parts)},
      processes_{std::move(processes)},
      events_{std::move(events)} {}

void TermWork::begin(const Leadership& term, WorkHandle handle, const Instant& now) {
  if (parts_.shutdown.isNear()) return;  // dropping the handle ends the work, which has not begun
  term_ = term;
  parts_.channel.beginTerm(term.holder(), term.fencingToken());
  inDoubt_ = false;
  work_ = std::move(handle);
  if (options_.hooks.onElected.empty()) return beginWork(now);
  startElected(now);
}

void TermWork::leadershipEnds(FencingToken token) {
  if (job_ && term_->fencingToken() == token) job_->stop("leadership has ended");
}

bool TermWork::hurry() {
  if (job_) {
    parts_.logger.log(LogLevel::warn, "asked to stop at once: " + job_->who() + " is killed");
    job_->hurry("asked to hurry");
    return true;
  }
  // While on_revoked is to run, the process must not end: it waits for on_renewed.
  HookProcess* const hook = revokes_ ? renewing_.get() : revoking_.get();
  if (hook == nullptr || hook->isLate() || hook->stays() != 0) return false;
  parts_.logger.log(LogLevel::warn, std::string{"asked to stop at once: hook "} +
                                        (revokes_ ? "on_renewed" : "on_revoked") + " is killed");
  hook->kill();
  return true;
}

void TermWork::forward(int signal) const noexcept {
  if (job_ && !electing_) job_->forward(signal);
}

std::vector<pollfd> TermWork::descriptors() const {
  std::vector<pollfd> entries = job_ ? job_->descriptors() : std::vector<pollfd>{};
  for (const auto* hook : {renewing_.get(), revoking_.get()}) {
    if (hook != nullptr) entries.push_back(hook->descriptor());
  }
  if (parts_.progress != nullptr) entries.push_back({parts_.progress->descriptor(), POLLIN, 0});
  return entries;
}

std::optional<nanoseconds> TermWork::untilWake(const Instant& now) const {
  std::optional<nanoseconds> left = job_ ? job_->untilWake(now) : std::nullopt;
  if (parts_.periods != nullptr) left = earlier(left, parts_.periods->untilLook());
  return earlier(left, untilHooks(now));
}

void TermWork::act(const Instant& now) {
  if (parts_.progress != nullptr && parts_.progress->take() && term_) term_->reportProgress();
  actHooks(now);
  if (job_) {
    parts_.publisher.publish(*term_);
    // No notice tells of a renewal once the work was asked to stop, but on_renewed must keep until the end of the job
    // what the job needs.
    const nanoseconds at = parts_.channel.term().anchor.boottime;
    if (at > std::exchange(renewedAt_, at) && !term_->leads()) renewed(term_->fencingToken(), now);
    job_->act(now);
    if (electing_ && job_->status() && !job_->isOver()) {
      job_->hurry("its first process has ended");
      job_->act(now);
    }
    if (job_->isOver()) endJob(now);
  }
  if (parts_.periods != nullptr && term_ && isOver()) betweenRuns(now);
}

std::string TermWork::text(const std::string& group) const {
  if (!parts_.shutdown.isNear() && term_ && term_->leads()) {
    return "leading group " + group + ", token " + toString(term_->fencingToken()) + (inDoubt_ ? ", in doubt" : "");
  }
  return job_ || (term_ && !parts_.shutdown.isNear()) ? "draining" : "";
}

void TermWork::probed(nanoseconds ago) const {
  if (!term_) return;
  term_->reportProgress(ago);
  if (job_ && !electing_) term_->reportEffective();
}

void TermWork::beginWork(const Instant& now) {
  if (parts_.periods == nullptr) return startJob(now);
  if (const auto fault = parts_.periods->beginTerm(*term_, now)) {
    events_.complain("job " + parts_.periods->name() + " cannot be run under " + options_.lease + ": " + *fault);
    endTerm(now);
    if (options_.once) return events_.leave(exitStore);
    began_ = now;
    giveUp(true, "no run may begin", now);
  }
}

void TermWork::startJob(const Instant& now) {
  events_.jobStarts();
  began_ = now;
  parts_.publisher.publish(*term_);
  renewedAt_ = parts_.channel.term().anchor.boottime;
  try {
    job_ = processes_.job(jobSpec(), "the job");
    const FencingToken token = term_->fencingToken();
    parts_.logger.log(LogLevel::info,
                      "the job starts as process " + std::to_string(job_->id()) + " with fencing token " +
                          toString(token) + (parts_.periods != nullptr ? parts_.periods->runText() : ""),
                      LogEvent::jobStarted, {{"pid", job_->id()}, {"token", token}});
    parts_.counts.started();
    if (!options_.hooks.hasProbe()) term_->reportEffective();
    if (parts_.periods != nullptr) parts_.periods->started();
  } catch (const std::exception& error) {
    const bool over = sayNotStarted("the job", error);
    if (parts_.periods != nullptr) {
      parts_.periods->couldNotStart(began_);
    } else {
      endTerm(now);
    }
    if (options_.once) return events_.leave(over ? exitLost : exitFailed);
    if (parts_.periods == nullptr && !over) giveUp(true, "the job did not start", now);
  }
}

/// Where the term is over, that is the reason: a reaper ends what has not begun by then.
bool TermWork::sayNotStarted(const std::string& what, const std::exception& error) const {
  const bool over = !term_->leads();
  events_.complain(over ? "leadership ended before " + what + " was started"
                        : what + " cannot be started: " + error.what());
  return over;
}

JobSpec TermWork::jobSpec() const {
  JobSpec spec = options_.spec(*term_);
  spec.command = options_.command;
  if (parts_.periods != nullptr) parts_.periods->describeRun(spec.environment);
  spec.environment.insert(options_.jobEnvironment.begin(), options_.jobEnvironment.end());
  if (parts_.progress != nullptr) {
    spec.inherited.push_back(parts_.progress->jobEnd());
    spec.environment["TENURE_PROGRESS_FD"] = std::to_string(parts_.progress->jobEnd());
  }
  return spec;
}

/// Nothing of the job is left. Only now may the elector release the lease (I9).
void TermWork::endJob(const Instant& now) {
  if (electing_) return endElected(now);
  const ExitStatus status = job_->status().value_or(ExitStatus{});
  const bool byItself = !job_->wasStopped();
  parts_.logger.log(LogLevel::info, "the job (process " + std::to_string(job_->id()) + ") " + status.text(),
                    LogEvent::jobEnded, {{"pid", job_->id()}, {"exit_code", status.shellCode()}});
  parts_.counts.ended(status);
  // Before the elector is told to stop, so that the note of the end goes out with the release at the latest.
  const bool neverRan = job_->execError() != 0 && exitCodeOfExec(job_->execError()) == exitFailed;
  if (parts_.periods != nullptr) {
    neverRan ? parts_.periods->couldNotStart(now) : parts_.periods->ended(status, byItself, now);
  }
  judgeEnd(status, byItself, now);
  job_.reset();
  if (parts_.periods == nullptr) endTerm(now);
}

void TermWork::judgeEnd(const ExitStatus& status, bool byItself, const Instant& now) {
  if (const int error = job_->execError(); error != 0) {
    const auto fault = faultOfCommand(options_.command.front());
    events_.complain(fault ? fault->message : options_.command.front() + ": " + errnoText(error));
    const int code = exitCodeOfExec(error);
    if (options_.once || code != exitFailed) return events_.leave(code);
  }
  if (options_.terminates && !byItself && job_->wasKilled() && !parts_.channel.term().validAt(now)) {
    events_.complain("leadership was lost, and the job had to be killed; this process ends (on_lost: terminate)");
    return events_.leave(exitTerminated);
  }
  if (options_.once && parts_.shutdown.isAsked()) return events_.leave(status.shellCode());
  if (parts_.periods != nullptr) return;  // what is due next is asked as long as this copy leads
  if (options_.once && byItself) return events_.leave(status.shellCode());
  if (options_.once && job_->lostReaper()) {
    events_.complain("the job's reaper process (tenure-reaper) was killed; the job was ended and " + status.text());
    return events_.leave(exitFailed);
  }
  if (options_.once) {
    events_.complain("leadership ended while the job ran; it was ended and " + status.text());
    return events_.leave(exitLost);
  }
  if (parts_.shutdown.isLeaving()) return;
  const bool failed = status.shellCode() != 0;
  if (byItself) return giveUp(failed, "the job ended", now);
  // A renewal may be confirmed in the last moment, when the guard has told the job already that its time is over. Then
  // this copy leads on, and without a job it would do so for ever.
  if (term_->leads()) {
    giveUp(failed,
           job_->lostReaper() ? "the job's reaper process was killed"
                              : "the guard ended the job before it knew of the last renewal",
           now);
  }
}

void TermWork::giveUp(bool failed, const std::string& why, const Instant& now) const {
  events_.giveUp(failed, elapsedForHolder(began_, now), why);
}

/// This copy leads, or did so when it looked last, and no process of its periodic job is there.
void TermWork::betweenRuns(const Instant& now) {
  if (parts_.progress != nullptr) term_->reportProgress();
  if (parts_.periods->notesEnd() && term_->isValid()) return;  // the work goes on until the end is in the record
  if (term_->leads() && !parts_.shutdown.isNear()) return actOnPeriods(now);
  endTerm(now);
  if (!options_.once || parts_.shutdown.isNear()) return;
  events_.complain("leadership ended before everything was done that was due");
  events_.leave(exitLost);
}

void TermWork::actOnPeriods(const Instant& now) {
  switch (parts_.periods->act(now)) {
    case PeriodicJob::Step::wait:
      return;
    case PeriodicJob::Step::run:
      return startJob(now);
    case PeriodicJob::Step::done:
      endTerm(now);
      return events_.leave(parts_.periods->lastCode().value_or(exitOk));
    case PeriodicJob::Step::refused:
      endTerm(now);
      return events_.leave(exitStore);
    case PeriodicJob::Step::giveUp: {
      const std::string why = parts_.periods->whyGivesUp();
      endTerm(now);
      if (options_.once) return events_.leave(*parts_.periods->lastCode());
      return giveUp(true, why, now);
    }
  }
}

void TermWork::endTerm(const Instant& now) {
  if (parts_.periods != nullptr) parts_.periods->endTerm();
  endsSince_ = now;
  revokes_ = !options_.hooks.onRevoked.empty();
  if (renewing_) renewing_->kill();
  finishTerm(now);
}

/// on_revoked waits for on_renewed, which could do again what it undoes. Once others may lead it waits only for as long
/// as a process takes to die: one that SIGKILL does not end must not keep from them what this copy has to give back.
void TermWork::finishTerm(const Instant& now) {
  const bool waits = renewing_ && (term_->isValid() || elapsedForHolder(*endsSince_, now) < timeToDie);
  if (revokes_ && !waits) startRevoked(now);
  if (renewing_ || revoking_ || (holding_ && term_->isValid())) return;
  holding_ = false;
  toldStays_.clear();
  endsSince_.reset();
  term_.reset();
  work_.reset();
}

// Hooks. None of them is waited for by a thread that renews.
//
// on_elected runs in place of the job, so the guard watches it as it watches a job. on_renewed is marked as a part of
// the job, so whoever ends the job ends it too. on_revoked runs when both are gone, or the job and the term; the work
// of the term lasts until all of them have ended, so no release and no next term comes before that.

/// Until nothing may act under this term any more, as the guard knows it.
nanoseconds TermWork::untilInvalid(const Instant& now) const {
  return std::max(untilKill(now, parts_.channel.term(), std::nullopt, nanoseconds{0}), nanoseconds{0});
}

/// The end of validity by a clock that other programs can read (CLOCK_BOOTTIME, /proc/uptime), because a hook may be
/// held up after it was started.
JobSpec TermWork::hookSpec(const std::string& command, const Instant& now) const {
  JobSpec spec = options_.spec(*term_);
  spec.command = hookCommand(command);
  const nanoseconds left = untilInvalid(now);
  spec.environment["TENURE_REMAINING_MS"] = millis(left);
  spec.environment["TENURE_VALID_UNTIL_MS"] = millis(now.boottime + left);
  if (job_) spec.environment[jobVariable] = job_->mark();
  return spec;
}

void TermWork::startElected(const Instant& now) {
  began_ = now;
  parts_.publisher.publish(*term_);
  electedIsLate_ = false;
  try {
    job_ = processes_.job(hookSpec(options_.hooks.onElected, now), "hook on_elected");
    electing_ = true;
    parts_.logger.log(LogLevel::info, "hook on_elected starts as process " + std::to_string(job_->id()),
                      LogEvent::hookStarted, {{"hook", "on_elected"}, {"token", term_->fencingToken()}});
  } catch (const std::exception& error) {
    const bool over = sayNotStarted("hook on_elected", error);
    endTerm(now);
    if (options_.once) return events_.leave(over ? exitLost : exitFailed);
    if (!over) giveUp(true, "hook on_elected did not start", now);
  }
}

/// Nothing of it is left. A term that cannot do what belongs to it is one for another candidate.
void TermWork::endElected(const Instant& now) {
  electing_ = false;
  const ExitStatus status = job_->status().value_or(ExitStatus{});
  const bool failed = !job_->wasStopped() && (electedIsLate_ || status.shellCode() != 0);
  const bool stopped = job_->wasStopped();
  parts_.logger.log(LogLevel::info, job_->who() + ' ' + status.text(), LogEvent::hookEnded,
                    {{"hook", "on_elected"}, {"exit_code", status.shellCode()}});
  job_.reset();
  const bool leads = term_->leads() && !parts_.shutdown.isLeaving();
  if (leads && !failed && !stopped) return beginWork(now);
  if (failed) {
    events_.complain("hook on_elected " + (electedIsLate_ ? "took longer than hooks.timeout" : status.text()) +
                     "; the job is not started");
  }
  endTerm(now);
  if (parts_.shutdown.isLeaving()) return;
  if (options_.once) {
    if (!failed) events_.complain("leadership ended before the job was started");
    return events_.leave(failed ? exitFailed : exitLost);
  }
  if (leads) giveUp(true, failed ? "hook on_elected failed" : "the guard ended hook on_elected", now);
}

void TermWork::renewed(FencingToken token, const Instant& now) {
  if (options_.hooks.onRenewed.empty()) return;
  if (!term_ || term_->fencingToken() != token || electing_ || endsSince_ || renewing_) return;
  try {
    renewing_ = processes_.hook("on_renewed", hookSpec(options_.hooks.onRenewed, now), now, true);
  } catch (const std::exception& error) {
    if (!std::exchange(renewalHookFails_, true)) {
      events_.complain(std::string{"hook on_renewed cannot be started: "} + error.what());
    }
  }
}

/// Of each once: this is asked until it has ended, which may be never.
void TermWork::tellWhoStays(const HookProcess& hook, const char* name) {
  const pid_t stays = hook.stays();
  if (stays == 0 || !toldStays_.insert(stays).second) return;
  events_.complain("process " + std::to_string(stays) + " of hook " + name + " runs as another user, so it cannot be " +
                   "ended; the lease is not released before it has ended: end it as that user or as root");
}

/// One line for each row of failures, because renewals are many. One that is late may never end.
void TermWork::lookAtRenewed(const Instant& now) {
  const bool ended = renewing_->status().has_value();
  if (!ended && (renewing_->isLate() || endsSince_)) tellWhoStays(*renewing_, "on_renewed");
  const bool failed = ended && !renewing_->succeeded() && !endsSince_ && untilInvalid(now).count() > 0;
  if ((failed || renewing_->isLate()) && !std::exchange(renewalHookFails_, true)) events_.complain(renewing_->text());
  if (!ended) return;
  if (renewing_->succeeded()) renewalHookFails_ = false;
  renewing_.reset();
}

void TermWork::startRevoked(const Instant& now) {
  revokes_ = false;
  parts_.publisher.publish(*term_);
  try {
    revoking_ = processes_.hook("on_revoked", hookSpec(options_.hooks.onRevoked, now), now, false);
    parts_.logger.log(LogLevel::info, "hook on_revoked starts", LogEvent::hookStarted,
                      {{"hook", "on_revoked"}, {"token", term_->fencingToken()}});
  } catch (const std::exception& error) {
    events_.complain(std::string{"hook on_revoked cannot be started: "} + error.what() +
                     "; the lease is not released, it expires");
    holding_ = true;
  }
}

/// What a failed one should have undone may still act, so nobody else may lead as long as this term is valid. One that
/// is late has failed, and may never end.
void TermWork::lookAtRevoked() {
  const bool ended = revoking_->status().has_value();
  if (!ended) tellWhoStays(*revoking_, "on_revoked");
  if ((revoking_->isLate() || (ended && !revoking_->succeeded())) && !std::exchange(holding_, true)) {
    events_.complain(revoking_->text() + (term_->isValid() ? "; the lease is not released, it expires" : ""));
  }
  if (!ended) return;
  parts_.logger.log(LogLevel::info, revoking_->text(), LogEvent::hookEnded,
                    {{"hook", "on_revoked"}, {"exit_code", revoking_->status()->shellCode()}});
  revoking_.reset();
}

/// Before the job acts: it may be the hook on_elected.
void TermWork::actHooks(const Instant& now) {
  if (parts_.progress != nullptr && term_ && runsHook()) term_->reportProgress();
  if (electedMayBeLate() && elapsedForHolder(began_, now) >= options_.hooks.timeout) {
    job_->act(now);  // it may have ended in time, and nobody has looked since
    electedIsLate_ = electedMayBeLate();
    if (electedIsLate_) job_->hurry("it takes longer than hooks.timeout");
  }
  if (renewing_) {
    if (!endsSince_ && untilInvalid(now).count() == 0) renewing_->kill();
    renewing_->act(now);
    lookAtRenewed(now);
  }
  if (revoking_) {
    revoking_->act(now);
    lookAtRevoked();
  }
  if (endsSince_) finishTerm(now);
}

std::optional<nanoseconds> TermWork::untilHooks(const Instant& now) const {
  std::optional<nanoseconds> left;
  if (electedMayBeLate()) left = options_.hooks.timeout - elapsedForHolder(began_, now);
  if (parts_.progress != nullptr && runsHook()) left = earlier(left, *parts_.timing.progressTimeout() / 3);
  if (renewing_) {
    const nanoseconds valid = untilInvalid(now);
    left = earlier(left, renewing_->untilWake(now));
    if (!endsSince_) left = earlier(left, valid.count() > 0 ? valid : nanoseconds{lookWhileDying});
  }
  if (revoking_) left = earlier(left, revoking_->untilWake(now));
  if (holding_ || (job_ && !options_.hooks.onRenewed.empty() && !term_->leads())) left = earlier(left, lookAtTerm);
  return left;
}

}  // namespace tenure::cli
