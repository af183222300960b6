// What the supervisor does under a term: it runs the job, once or in each period, and judges how it ended.
#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

#include <tenure/lockcore/lease_key.hpp>

#include "config/src/duration.hpp"
#include "exec_image.hpp"
#include "lockcore/port/lease_store.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "output.hpp"
#include "supervisor.hpp"

namespace tenure::cli {

using std::chrono::nanoseconds;

void Supervisor::beginTerm(const Leadership& term, WorkHandle handle) {
  if (exitCode_ || stopAskedAt_) return;  // dropping the handle ends the work, which has not begun
  waitLimit_.lift();
  term_ = term;
  inDoubt_ = false;
  work_ = std::move(handle);
  if (options_.hooks.onElected.empty()) return beginWork();
  startElected();
}

void Supervisor::beginWork() {
  if (!periods_) return startJob();
  if (const auto fault = periods_->beginTerm(*term_, readClock())) {
    complain("job " + periods_->name() + " cannot be run under " + toString(group_.key()) + ": " + *fault);
    endTerm();
    if (options_.once) return leave(exitStore);
    jobBegan_ = readClock();
    pauseAndCompete(true, "no run may begin");
  }
}

void Supervisor::startJob() {
  quietLog_.open();
  jobBegan_ = readClock();
  publisher_.publish(*term_);
  try {
    job_ =
        std::make_unique<JobRun>(jobSpec(), jobDrainTimeout(group_.timing()), channel_, guard_, signalState_, logger_);
    const FencingToken token = term_->fencingToken();
    logger_.log(LogLevel::info,
                "the job starts as process " + std::to_string(job_->id()) + " with fencing token " + toString(token) +
                    (periods_ ? periods_->runText() : ""),
                LogEvent::jobStarted, {{"pid", job_->id()}, {"token", token}});
    jobCounts_->started();
    if (periods_) periods_->started();
  } catch (const std::exception& error) {
    const bool over = tellNotStarted("the job", error);
    if (periods_) {
      periods_->couldNotStart(jobBegan_);
    } else {
      endTerm();
    }
    if (options_.once) return leave(over ? exitLost : exitFailed);
    if (!periods_ && !over) pauseAndCompete(true, "the job did not start");
  }
}

/// Where the term is over, that is the reason: a reaper ends what has not begun by then.
bool Supervisor::tellNotStarted(const std::string& what, const std::exception& error) const {
  const bool over = !term_->leads();
  complain(over ? "leadership ended before " + what + " was started" : what + " cannot be started: " + error.what());
  return over;
}

/// What a process finds that acts under the present term.
JobSpec Supervisor::termSpec() const {
  JobSpec spec;
  spec.environment = {{"TENURE_FENCING_TOKEN", toString(term_->fencingToken())},
                      {"TENURE_GROUP", group_.name()},
                      {"TENURE_LEASE", term_->leaseName()},
                      {"TENURE_CANDIDATE", term_->holder()},
                      {"TENURE_STORE", group_.store()->describe()},
                      {"TENURE_LEASE_DURATION", durationText(group_.timing().duration())},
                      {"TENURE_DRAIN_TIMEOUT", durationText(group_.timing().drainTimeout())}};
  if (!options_.configFile.empty()) spec.environment["TENURE_CONFIG"] = options_.configFile;
  // As long as anything of the job is left, this holder must count as alive.
  const std::shared_ptr<DeathNotice> notice = group_.store()->deathNotice();
  if (notice) spec.livenessFile = notice->descriptor();
  return spec;
}

JobSpec Supervisor::jobSpec() const {
  JobSpec spec = termSpec();
  spec.command = options_.command;
  if (periods_) periods_->describeRun(spec.environment);
  if (options_.jobMayNotify)
    spec.environment.insert(options_.service.variables.begin(), options_.service.variables.end());
  if (progress_) {
    spec.inherited.push_back(progress_->jobEnd());
    spec.environment["TENURE_PROGRESS_FD"] = std::to_string(progress_->jobEnd());
  }
  return spec;
}

/// Nothing of the job is left. Only now may the elector release the lease (I9).
void Supervisor::endJob() {
  if (electing_) return endElected();
  const ExitStatus status = job_->status().value_or(ExitStatus{});
  const bool byItself = !job_->wasStopped();
  logger_.log(LogLevel::info, "the job (process " + std::to_string(job_->id()) + ") " + status.text(),
              LogEvent::jobEnded, {{"pid", job_->id()}, {"exit_code", status.shellCode()}});
  jobCounts_->ended(status);
  // Before the elector is told to stop, so that the note of the end goes out with the release at the latest.
  if (periods_) periods_->ended(status, byItself, readClock());
  judgeEnd(status, byItself);
  job_.reset();
  if (!periods_) endTerm();
}

void Supervisor::judgeEnd(const ExitStatus& status, bool byItself) {
  if (const int error = job_->execError(); error != 0) {
    const auto fault = faultOfCommand(options_.command.front());
    complain(fault ? fault->message : options_.command.front() + ": " + errnoText(error));
    return leave(error == ENOENT ? exitNotFound : exitNotExecutable);
  }
  if (terminates_ && !byItself && !channel_.term().validAt(readClock())) {
    complain("leadership was lost, and the job had to be killed; this process ends (on_lost: terminate)");
    return leave(exitTerminated);
  }
  if (options_.once && stopAskedAt_) return leave(status.shellCode());
  if (periods_) return;  // what is due next is asked as long as this copy leads
  if (options_.once && byItself) return leave(status.shellCode());
  if (options_.once && job_->lostReaper()) {
    complain("the job's reaper process (tenure-reaper) was killed; the job was ended and " + status.text());
    return leave(exitFailed);
  }
  if (options_.once) {
    complain("leadership ended while the job ran; it was ended and " + status.text());
    return leave(exitLost);
  }
  if (exitCode_) return;
  const bool failed = status.shellCode() != 0;
  if (byItself) return pauseAndCompete(failed, "the job ended by itself");
  // A renewal may be confirmed in the last moment, when the guard has told the job already that its time is over. Then
  // this copy leads on, and without a job it would do so for ever.
  if (term_->leads()) {
    pauseAndCompete(failed, job_->lostReaper() ? "the job's reaper process was killed"
                                               : "the guard ended the job before it knew of the last renewal");
  }
}

void Supervisor::pauseAndCompete(bool failed, const std::string& why) {
  const nanoseconds ran = elapsedForHolder(jobBegan_, readClock());
  const nanoseconds delay = restartDelay_.afterEnd(failed, ran);
  logger_.log(failed ? LogLevel::warn : LogLevel::info,
              "gives leadership up, because " + why + "; competes again in " +
                  durationText(std::chrono::duration_cast<std::chrono::milliseconds>(delay)));
  candidacy_->stop();  // released at once; onStopped begins the pause
}

/// This copy leads, or did so when it looked last, and no process of its periodic job is there.
void Supervisor::betweenRuns(const Instant& now) {
  if (progress_) term_->reportProgress();
  if (periods_->notesEnd() && term_->isValid()) return;  // the work goes on until the end is in the record
  if (term_->leads() && !exitCode_ && !stopAskedAt_) return actOnPeriods(now);
  endTerm();
  if (!options_.once || exitCode_ || stopAskedAt_) return;
  complain("leadership ended before everything was done that was due");
  leave(exitLost);
}

void Supervisor::actOnPeriods(const Instant& now) {
  switch (periods_->act(now)) {
    case PeriodicJob::Step::wait:
      return;
    case PeriodicJob::Step::run:
      return startJob();
    case PeriodicJob::Step::done:
      endTerm();
      return leave(periods_->lastCode().value_or(exitOk));
    case PeriodicJob::Step::refused:
      endTerm();
      return leave(exitStore);
    case PeriodicJob::Step::giveUp: {
      const std::string why = periods_->whyGivesUp();
      endTerm();
      if (options_.once) return leave(*periods_->lastCode());
      return pauseAndCompete(true, why);
    }
  }
}

void Supervisor::endTerm() {
  if (periods_) periods_->endTerm();
  renewing_.reset();
  if (options_.hooks.onRevoked.empty()) return dropTerm();
  startRevoked();
}

void Supervisor::dropTerm() {
  term_.reset();
  work_.reset();
}

}  // namespace tenure::cli
