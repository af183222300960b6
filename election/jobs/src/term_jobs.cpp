#include "term_jobs.hpp"

#include <algorithm>
#include <utility>

#include "election/src/term_handle.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/runtime/user_code.hpp"
#include "wall_clock.hpp"

namespace tenure {

using std::chrono::nanoseconds;
using std::chrono::seconds;
using std::chrono::sys_seconds;

namespace {

/// After a write that the store refused, which it does for what is too long. Nothing changes soon then.
constexpr nanoseconds pauseAfterError = seconds{10};

constexpr const char* neverStarted = "leadership ended before it could start";

std::string nameOf(const JobRun& run) {
  return "the run of " + textOf(run.period) + (run.attempt > 1 ? ", attempt " + std::to_string(run.attempt) : "");
}

}  // namespace

std::shared_ptr<TermJobs> TermJobs::begin(std::shared_ptr<const JobsContext> context, const Leadership& term) {
  auto jobs = std::make_shared<TermJobs>(std::move(context), term);
  jobs->open();
  return jobs;
}

TermJobs::TermJobs(std::shared_ptr<const JobsContext> context, const Leadership& term)
    : context_{std::move(context)}, term_{term} {
  for (const ScheduledJob& what : context_->jobs) jobs_.push_back({what});
}

void TermJobs::open() {
  const Instant now = context_->clock->now();
  const sys_seconds wall = context_->wallClock();
  for (Job& job : jobs_) {
    auto ledger = TermLedger::open(term_, {job.what.name, job.what.schedule, job.what.policy}, wall, now);
    if (ledger) {
      job.ledger = *std::move(ledger);
      if (!job.ledger->leftOut().empty()) log(LogLevel::warn, job, job.ledger->leftOut());
      job.ledger->settle([](const DocumentAnswer&) {});
    } else {
      job.error = ledger.error().message;
      log(LogLevel::error, job, "no run begins: " + job.error);
    }
  }
  onStop_.emplace(term_.stopToken(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->stop();
  });
  lookSoon();
}

void TermJobs::lookSoon() {
  context_->link->post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->look();
  });
}

void TermJobs::look() {
  const auto scheduler = context_->link->scheduler();
  if (!scheduler) return;
  if (timer_) scheduler->cancel(*std::exchange(timer_, std::nullopt));
  const sys_seconds wall = withinRange(context_->wallClock());
  const Instant now = context_->clock->now();
  nanoseconds wait = context_->lookEvery;
  std::vector<Task> tasks;
  {
    const std::lock_guard lock{mutex_};
    if (stopping_) return;
    for (Job& job : jobs_) wait = std::min(wait, step(job, wall, now, tasks));
    reportIfNoneWorks();
  }
  timer_ = scheduler->schedule(wait, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->timer_.reset();
    self->look();
  });
  for (const Task& task : tasks) task();
}

/// With the lock held. Returns how long nothing need be done; `tasks` are run without the lock.
nanoseconds TermJobs::step(Job& job, sys_seconds wall, const Instant& now, std::vector<Task>& tasks) {
  if (!job.ledger || job.asked) return context_->lookEvery;
  if (!job.error.empty() && elapsedForChallenger(job.refusedAt, now) < pauseAfterError) return context_->lookEvery;
  if (job.run) return stepOfRun(job, wall, now, tasks);
  const JobDecision decision = job.ledger->decide(wall, now);
  const auto* due = std::get_if<BeginRun>(&decision);
  // Whole seconds: no period begins sooner than the next look. An attempt after the end of the term would be wasted.
  if (due == nullptr || !term_.leads()) return context_->lookEvery;
  if (due->pause.count() > 0) return due->pause;
  job.asked = true;
  tasks.emplace_back([this, &job, run = *due, wall] {
    job.ledger->begin(run, wall, [self = shared_from_this(), &job, run, wall](const DocumentAnswer& answer) {
      self->begun(job, run, wall, answer);
    });
  });
  return context_->lookEvery;
}

nanoseconds TermJobs::stepOfRun(Job& job, sys_seconds wall, const Instant& now, std::vector<Task>& tasks) {
  const std::shared_ptr<Run>& run = job.run;
  if (!run->taken && elapsedForChallenger(run->from, now) >= context_->patience) stepOfWaiting(job, tasks);
  if (run->outcome) {  // the store refused its end
    job.asked = true;
    tasks.emplace_back([this, &job, run] { writeEnd(job, run); });
    return context_->lookEvery;
  }
  if (job.what.overlap == Overlap::wait || run->stop.stop_requested()) return context_->lookEvery;
  const sys_seconds current = job.what.schedule.latestAt(wall);
  // A period that was begun before the clock was put back replaces nothing, and neither does one that is skipped.
  if (current <= run->periodOfClock || job.ledger->contains(current)) return context_->lookEvery;
  if (job.what.policy.missed == Missed::skip && wall - current > job.what.policy.lateBy) return context_->lookEvery;
  tasks.emplace_back([this, &job, run] {
    log(LogLevel::info, job, nameOf(run->given) + " is asked to stop, because the next one is due");
    askToStop(run);
  });
  return context_->lookEvery;
}

/// With the lock held. Where others work, the run has its turn later; where none does, this copy cannot work at all.
void TermJobs::stepOfWaiting(Job& job, std::vector<Task>& tasks) {
  const auto cause = context_->whyNothingRuns();
  if (!cause) return;
  const std::string why = "its run " + *cause;
  if (std::exchange(job.error, why) != why) tasks.emplace_back([this, &job, why] { log(LogLevel::warn, job, why); });
  if (!noneWorks()) return;
  tasks.emplace_back([this, why = "job " + job.what.name + ": " + why] {
    const auto driver = handleOf(term_).driver.lock();
    if (driver) driver->submit(event::WorkFailed{why, RevokeReason::notStarted});
  });
}

void TermJobs::begun(Job& job, const BeginRun& due, sys_seconds wall, const DocumentAnswer& answer) {
  if (answer.kind != DocumentAnswer::Kind::recorded) {
    noteError(job, answer, "no run begins, because the lease's record does not have it");
    return ready(job, answer);
  }
  const auto run = std::make_shared<Run>(Run{{job.what.name, due.period, due.attempt, term_, {}},
                                             {},
                                             context_->clock->now(),
                                             job.what.schedule.latestAt(wall)});
  run->given.stop = run->stop.get_token();
  bool starts = false;
  {
    const std::lock_guard lock{mutex_};
    starts = !stopping_;  // work() asks whether the term leads
    run->taken = !starts;
    job.run = run;
    job.asked = false;
    job.error.clear();
  }
  if (!starts) return end(job, run, RunOutcome::stopped, neverStarted);
  context_->executor([self = shared_from_this(), &job, run] { self->work(job, run); });
}

void TermJobs::work(Job& job, const std::shared_ptr<Run>& run) {
  {
    const std::lock_guard lock{mutex_};
    if (run->taken) return;
    reportIfNoneWorks();  // so that the work has all of the time before it must report
    run->taken = true;
    job.error.clear();
    run->worker = std::this_thread::get_id();
  }
  if (!term_.leads()) return end(job, run, RunOutcome::stopped, neverStarted);
  log(LogLevel::info, job, nameOf(run->given) + " begins, fencing token " + toString(term_.fencingToken()));
  const auto thrown = whatThrown([&] { job.what.work(run->given); });
  RunOutcome outcome = thrown ? RunOutcome::failed : RunOutcome::succeeded;
  // The token fires later than the term ends, and work may have ended by the term itself.
  if (run->stop.stop_requested() || !term_.leads()) outcome = RunOutcome::stopped;
  end(job, run, outcome, thrown.value_or(""));
}

void TermJobs::end(Job& job, const std::shared_ptr<Run>& run, RunOutcome outcome, const std::string& why) {
  log(outcome == RunOutcome::failed ? LogLevel::error : LogLevel::info, job,
      nameOf(run->given) + " " + std::string{toString(outcome)} + (why.empty() ? "" : ": " + why));
  {
    const std::lock_guard lock{mutex_};
    run->worker = {};
    run->outcome = outcome;
    job.asked = true;
    reportIfNoneWorks();
  }
  writeEnd(job, run);
}

void TermJobs::writeEnd(Job& job, const std::shared_ptr<Run>& run) {
  job.ledger->end(*run->outcome, {}, context_->clock->now(),
                  [self = shared_from_this(), &job](const auto& answer) { self->ended(job, answer); });
}

/// If the store refuses it, it is tried again as long as the term goes on.
void TermJobs::ended(Job& job, const DocumentAnswer& answer) {
  if (answer.kind != DocumentAnswer::Kind::recorded)
    noteError(job, answer, "the lease's record does not have how the last run ended");
  ready(job, answer);
}

/// All under one lock: stop() must find a job that is asked for, or a run whose end it can ask for, or neither.
void TermJobs::ready(Job& job, const DocumentAnswer& answer) {
  {
    const std::lock_guard lock{mutex_};
    job.asked = false;
    if (answer.kind == DocumentAnswer::Kind::recorded) job.error.clear();
    if (stopping_ || answer.kind != DocumentAnswer::Kind::refused) job.run.reset();
  }
  idle_.notify_all();
  lookSoon();
}

/// With the lock held. Work that goes on reports for itself; a run that waits, for a thread or for the store, cannot.
void TermJobs::reportIfNoneWorks() const {
  if (noneWorks()) term_.reportProgress();
}

/// With the lock held.
bool TermJobs::noneWorks() const {
  return std::none_of(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.run && job.run->works(); });
}

void TermJobs::noteError(Job& job, const DocumentAnswer& answer, const std::string& what) {
  std::string error = what + ": " + answer.why;
  const Instant now = context_->clock->now();
  bool isNews = false;
  {
    const std::lock_guard lock{mutex_};
    job.refusedAt = now;
    isNews = error != job.error;
    job.error = error;
  }
  const bool over = answer.kind == DocumentAnswer::Kind::unknown;  // as in every term that is lost
  if (isNews) log(over ? LogLevel::warn : LogLevel::error, job, error);
}

/// On a thread for itself, because the callbacks of users may block in it (I6).
void TermJobs::askToStop(const std::shared_ptr<Run>& run) const {
  context_->stopTokens->post([stop = run->stop]() mutable { stop.request_stop(); });
}

void TermJobs::stop() {
  std::vector<std::shared_ptr<Run>> runs;
  std::vector<Task> tasks;
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
    for (Job& job : jobs_) {
      if (!job.run) continue;
      runs.push_back(job.run);
      if (!std::exchange(job.run->taken, true)) {  // its work waits for a thread
        tasks.emplace_back([this, &job, run = job.run] { end(job, run, RunOutcome::stopped, neverStarted); });
      } else if (job.run->outcome && !job.asked) {  // the store refused its end
        job.asked = true;
        tasks.emplace_back([this, &job, run = job.run] { writeEnd(job, run); });
      }
    }
  }
  for (const std::shared_ptr<Run>& run : runs) askToStop(run);
  for (const Task& task : tasks) task();
}

void TermJobs::awaitEnd() {
  std::unique_lock lock{mutex_};
  const auto over = [this] {
    return std::all_of(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.isIdle(); });
  };
  idle_.wait(lock, [&] { return over() || patience_; });
  if (!over()) idle_.wait_for(lock, patience_->left(), over);
}

void TermJobs::abandon(const Patience& patience) {
  {
    const std::lock_guard lock{mutex_};
    patience_.emplace(patience);
  }
  idle_.notify_all();
}

bool TermJobs::isInsideWork() const {
  const std::lock_guard lock{mutex_};
  return std::any_of(jobs_.begin(), jobs_.end(), [here = std::this_thread::get_id()](const Job& job) {
    return job.run && job.run->worker == here;
  });
}

void TermJobs::addTo(std::vector<JobStatus>& statuses) const {
  const std::lock_guard lock{mutex_};
  auto status = statuses.begin();
  for (const Job& job : jobs_) {
    status->error = job.error;
    if (job.run && job.ledger) status->running = job.ledger->history().open;
    ++status;
  }
}

void TermJobs::log(LogLevel level, const Job& job, const std::string& line) const {
  context_->log(level, "job " + job.what.name + ": " + line);
}

}  // namespace tenure
