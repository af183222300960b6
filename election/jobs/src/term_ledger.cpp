#include "term_ledger.hpp"

#include <algorithm>
#include <utility>

#include <tenure/lockcore/candidate_id.hpp>

#include "election/src/term_handle.hpp"
#include "jobs_in_document.hpp"

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::sys_seconds;

namespace {

Instant nowOf(const Leadership& term) { return handleOf(term).clock->now(); }

/// Never early: the clock rule's lower bound of what has passed, and whole milliseconds.
milliseconds leftOf(milliseconds pause, const Instant& from, const Instant& now) {
  return std::max(milliseconds{0}, std::chrono::ceil<milliseconds>(pause - elapsedForChallenger(from, now)));
}

/// Why no ledger of another job may be added, if so.
std::optional<std::string> faultOfAnother(const JobsDocument& document) {
  if (document.jobs.size() < mostJobs) return std::nullopt;
  return "the lease's record has the ledgers of " + std::to_string(document.jobs.size()) +
         " jobs already, and more would slow the lease down; give this job a group of its own, or make room with "
         "tenure jobs forget all --job NAME";
}

}  // namespace

StoreResult<std::shared_ptr<TermLedger>> TermLedger::open(const Leadership& term, Job job, const Instant& now) {
  StoreResult<JobsDocument> document = jobsIn(handleOf(term).document());
  if (!document) return document.error();
  const auto found = document->jobs.find(job.name);
  JobRuns runs = found == document->jobs.end() ? JobRuns{} : std::move(found->second);
  return std::make_shared<TermLedger>(term, std::move(job), std::move(runs), now);
}

TermLedger::TermLedger(const Leadership& term, Job job, JobRuns runs, const Instant& now)
    : term_{term}, job_{std::move(job)}, runs_{std::move(runs)}, pauseFrom_{now}, began_{now} {}

JobDecision TermLedger::decide(sys_seconds wall, const Instant& now) const {
  const std::lock_guard lock{mutex_};
  if (underWay_ > 0 || over_) return RunIsOpen{};
  JobDecision decision = runs_.decide(wall, job_.schedule, job_.policy, term_.fencingToken());
  if (auto* run = std::get_if<BeginRun>(&decision)) run->pause = leftOf(run->pause, pauseFrom_, now);
  return decision;
}

void TermLedger::begin(const BeginRun& run, sys_seconds wall, DocumentWrites::Done done) {
  const RunStart start{term_.fencingToken(), personOf(term_.holder()), wall};
  write(
      [run, start, schedule = job_.schedule](JobRuns& runs) -> std::optional<std::string> {
        if (runs.begin(run, start, schedule)) return std::nullopt;
        return "the ledger in the lease's record has this run already, or another one";
      },
      [this] { began_ = nowOf(term_); }, std::move(done));
}

void TermLedger::end(RunOutcome outcome, std::optional<int> exitCode, const Instant& now, DocumentWrites::Done done) {
  Instant began;
  {
    const std::lock_guard lock{mutex_};
    began = began_;
  }
  const auto duration = std::chrono::floor<milliseconds>(elapsedForChallenger(began, now));
  const RunEnd end{term_.fencingToken(), outcome, exitCode, std::max(duration, milliseconds{0})};
  write(
      [end](JobRuns& runs) -> std::optional<std::string> {
        if (runs.end(end)) return std::nullopt;
        return "the ledger in the lease's record has no run of this term that goes on";
      },
      [this, now] { pauseFrom_ = now; }, std::move(done));
}

/// Each change is made on the document as it is there: the ledgers of other jobs change it too.
void TermLedger::write(Step step, Then then, DocumentWrites::Done done) {
  {
    const std::lock_guard lock{mutex_};
    ++underWay_;
  }
  const auto written = std::make_shared<JobRuns>();
  auto change = [step = std::move(step), name = job_.name, written](const std::string& document) {
    StoreResult<JobsDocument> jobs = jobsIn(document);
    if (!jobs) return StoreResult<std::string>{jobs.error()};
    auto why = jobs->jobs.count(name) == 0 ? faultOfAnother(*jobs) : std::nullopt;
    JobRuns& runs = jobs->jobs[name];
    if (!why) why = step(runs);
    if (why) return StoreResult<std::string>{StoreError{ErrorClass::transient, *std::move(why)}};
    *written = runs;
    return withJobs(document, *jobs);
  };
  auto answered = [self = shared_from_this(), written, then = std::move(then),
                   done = std::move(done)](const DocumentAnswer& answer) {
    {
      const std::lock_guard lock{self->mutex_};
      --self->underWay_;
      if (answer.kind == DocumentAnswer::Kind::unknown) self->over_ = true;
      if (answer.kind == DocumentAnswer::Kind::recorded) {
        self->runs_ = *written;
        then();
      }
    }
    done(answer);
  };
  handleOf(term_).updateDocument(std::move(change), std::move(answered));
}

JobHistory TermLedger::history() const {
  const std::lock_guard lock{mutex_};
  return runs_.history();
}

bool TermLedger::contains(sys_seconds period) const {
  const std::lock_guard lock{mutex_};
  return runs_.contains(period);
}

}  // namespace tenure
