#include "periodic_job.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "cli/text/exit_codes.hpp"
#include "cli/text/output.hpp"
#include "cli/text/period_text.hpp"
#include "config/src/duration.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::sys_seconds;

std::string attemptText(const BeginRun& run) {
  return run.attempt == 1 ? "" : " (attempt " + std::to_string(run.attempt) + ')';
}

std::string outcomeText(const PastRun& run) {
  std::string text{toString(run.outcome)};
  if (run.exitCode && *run.exitCode != 0) text += " with exit code " + std::to_string(*run.exitCode);
  if (run.duration) text += " after " + durationText(*run.duration);
  return text;
}

}  // namespace

PeriodicJob::PeriodicJob(Options options, MainTasks& tasks, Logger logger, WallClock wall)
    : options_{std::move(options)}, tasks_{tasks}, logger_{std::move(logger)}, wall_{std::move(wall)} {}

sys_seconds PeriodicJob::wallNow() const { return sys_seconds{std::chrono::floor<std::chrono::seconds>(wall_())}; }

std::optional<std::string> PeriodicJob::beginTerm(const Leadership& term, const Instant& now) {
  endTerm();
  auto opened = TermLedger::open(term, options_.job, wallNow(), now);
  if (!opened) return opened.error().message;
  ledger_ = *std::move(opened);
  if (!ledger_->leftOut().empty()) logger_.log(LogLevel::warn, "job " + name() + ": " + ledger_->leftOut());
  ledger_->settle([](const DocumentAnswer&) {});
  return std::nullopt;
}

void PeriodicJob::endTerm() {
  if (stage_ == Stage::begins || stage_ == Stage::begun) {
    logger_.log(LogLevel::warn, "leadership ended before the run of period " + periodText(run_.period) +
                                    " was started; if its start is in the record, it counts as lost");
  } else if (stage_ == Stage::ends) {
    logger_.log(LogLevel::warn, "the end of the run of period " + periodText(run_.period) +
                                    " may not be in the record; then it counts as lost");
  }
  ++asked_;
  stage_ = Stage::asks;
  ledger_.reset();
  whyGivesUp_.clear();
  refused_ = false;
  refusedAt_.reset();
  toldNext_.reset();
}

std::optional<nanoseconds> PeriodicJob::untilLook() const {
  if (!ledger_ || stage_ == Stage::runs) return std::nullopt;
  return std::min(pause_.value_or(options_.lookAtLeast), options_.lookAtLeast);
}

PeriodicJob::Step PeriodicJob::act(const Instant& now) {
  pause_.reset();
  switch (stage_) {
    case Stage::asks:
      return decide(now);
    case Stage::begun:
      return Step::run;
    case Stage::givesUp:
      return Step::giveUp;
    case Stage::begins:
    case Stage::runs:
    case Stage::ends:
      break;
  }
  return Step::wait;
}

PeriodicJob::Step PeriodicJob::decide(const Instant& now) {
  if (std::exchange(refused_, false)) refusedAt_ = now;
  if (refusedAt_) {
    if (options_.once) return Step::refused;
    const nanoseconds left = options_.afterError - elapsedForHolder(*refusedAt_, now);
    if (left.count() > 0) return pause_ = left, Step::wait;
    refusedAt_.reset();
  }
  const sys_seconds wall = wallNow();
  const JobDecision decision = ledger_->decide(wall, now);
  if (!lastDue_) lastDue_ = options_.job.schedule.latestAt(wall);
  if (const auto* due = std::get_if<BeginRun>(&decision)) {
    if (options_.once && due->period > *lastDue_) return Step::done;
    return begin(*due);
  }
  const auto* later = std::get_if<WaitUntil>(&decision);
  if (later == nullptr) return Step::wait;  // the term is over, as this copy will learn soon
  tellNothingDue(later->time);
  pause_ = std::max(later->time.time_since_epoch() - wall_(), milliseconds{1});
  return options_.once ? Step::done : Step::wait;
}

PeriodicJob::Step PeriodicJob::begin(const BeginRun& run) {
  if (run.pause.count() > 0) {
    if (run_ != BeginRun{run.period, run.attempt}) {
      logger_.log(LogLevel::info,
                  "period " + periodText(run.period) + attemptText(run) + " is due in " + durationText(run.pause));
    }
    run_ = {run.period, run.attempt};
    pause_ = run.pause;
    return Step::wait;
  }
  run_ = {run.period, run.attempt};
  tellLeftOut();
  stage_ = Stage::begins;
  ledger_->begin(run_, wallNow(), answerTo(&PeriodicJob::takeBegin));
  return Step::wait;
}

/// Whoever answers may not be the main thread, and may do so when the term is long over.
DocumentWrites::Done PeriodicJob::answerTo(void (PeriodicJob::*taken)(const DocumentAnswer&)) {
  return [this, taken, number = ++asked_](const DocumentAnswer& answer) {
    tasks_.post([this, taken, number, answer] {
      if (number == asked_) (this->*taken)(answer);
    });
  };
}

void PeriodicJob::takeBegin(const DocumentAnswer& answer) {
  switch (answer.kind) {
    case DocumentAnswer::Kind::recorded:
      stage_ = Stage::begun;
      return;
    case DocumentAnswer::Kind::refused:
      stage_ = Stage::asks;
      refused_ = true;
      return complain("job " + name() + ": the run of period " + periodText(run_.period) +
                      " is not started, because its start could not be recorded: " + answer.why +
                      (options_.once ? ""
                                     : "; tries again in " + durationText(std::chrono::duration_cast<milliseconds>(
                                                                 options_.afterError))));
    case DocumentAnswer::Kind::unknown:
      break;  // the term is over; `endTerm` says what that means
  }
}

void PeriodicJob::ended(const ExitStatus& status, bool byItself, const Instant& now) {
  lastCode_ = status.shellCode();
  const bool well = !status.bySignal && status.value == 0;
  const RunOutcome outcome = !byItself ? RunOutcome::stopped : well ? RunOutcome::succeeded : RunOutcome::failed;
  stage_ = Stage::ends;
  ledger_->end(outcome, status.shellCode(), now, answerTo(&PeriodicJob::takeEnd));
}

void PeriodicJob::couldNotStart(const Instant& now) {
  whyGivesUp_ = "the job did not start";
  ended(ExitStatus{false, exitFailed}, true, now);
}

void PeriodicJob::takeEnd(const DocumentAnswer& answer) {
  const std::string run = "the run of period " + periodText(run_.period) + attemptText(run_);
  if (answer.kind == DocumentAnswer::Kind::recorded) {
    stage_ = whyGivesUp_.empty() ? Stage::asks : Stage::givesUp;
    return logger_.log(LogLevel::info, run + ' ' + outcomeText(ledger_->history().past.back()));
  }
  if (answer.kind == DocumentAnswer::Kind::unknown) return;
  stage_ = Stage::givesUp;
  whyGivesUp_ = "the end of a run could not be recorded";
  complain("job " + name() + ": the end of " + run + " could not be recorded, so it will count as lost: " + answer.why);
}

void PeriodicJob::tellNothingDue(sys_seconds next) {
  if (toldNext_ == next) return;
  toldNext_ = next;
  logger_.log(LogLevel::info,
              "nothing is due for job " + name() + " until " + periodText(next) + (lastCode_ ? "" : lastRunText()));
}

void PeriodicJob::describeRun(std::map<std::string, std::string>& environment) const {
  environment["TENURE_JOB_NAME"] = name();
  environment["TENURE_PERIOD"] = periodText(run_.period);
  environment["TENURE_PERIOD_EPOCH"] = std::to_string(run_.period.time_since_epoch().count());
  environment["TENURE_ATTEMPT"] = std::to_string(run_.attempt);
}

std::string PeriodicJob::runText() const { return " for period " + periodText(run_.period) + attemptText(run_); }

/// People want to know what will never run.
void PeriodicJob::tellLeftOut() const {
  const JobHistory history = ledger_->history();
  if (run_.attempt > 1 || history.begun.empty()) return;
  const sys_seconds first = options_.job.schedule.after(history.begun.back().to);
  if (first >= run_.period) return;
  logger_.log(LogLevel::warn, "no run began in the periods from " + periodText(first) + " until the one of " +
                                  periodText(run_.period) + ", which begins now");
}

std::string PeriodicJob::lastRunText() const {
  const JobHistory history = ledger_->history();
  if (history.open && !history.open->ended) {
    return ": the last run, of period " + periodText(history.open->period) + " by " + history.open->holder +
           ", was lost: it is not recorded how it ended";
  }
  if (history.past.empty()) return {};
  const PastRun& last = history.past.back();
  return ": the last run, of period " + periodText(last.period) + " by " + shown(last.holder, mostOfHolder) + ", " +
         outcomeText(last);
}

}  // namespace tenure::cli
