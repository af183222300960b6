#include "term_ledger.hpp"

#include <algorithm>
#include <utility>

#include <tenure/lockcore/candidate_id.hpp>

#include "election/src/term_handle.hpp"
#include "jobs_in_document.hpp"
#include "wall_clock.hpp"

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::sys_seconds;

namespace {

Instant nowOf(const Leadership& term) { return handleOf(term).clock->now(); }

/// Never early: the clock rule's lower bound of what has passed, and whole milliseconds.
milliseconds leftOf(milliseconds pause, const Instant& from, const Instant& now) {
  return std::max(milliseconds{0}, std::chrono::ceil<milliseconds>(pause - elapsedForChallenger(from, now)));
}

constexpr std::string_view nobodyKnows = "unknown: lost by the store";

JobRuns ledgerOf(const JobsDocument& document, const std::string& job) {
  const auto found = document.jobs.find(job);
  return found == document.jobs.end() ? JobRuns{} : found->second;
}

/// Why no ledger of another job may be added, if so.
std::optional<std::string> faultOfAnother(const JobsDocument& document) {
  if (document.jobs.size() < mostJobs) return std::nullopt;
  return "the lease's record has the ledgers of " + std::to_string(document.jobs.size()) +
         " jobs already, and more would slow the lease down; give this job a separate group, or make room with "
         "tenure jobs forget all --job NAME";
}

}  // namespace

StoreResult<std::shared_ptr<TermLedger>> TermLedger::open(const Leadership& term, Job job, sys_seconds wall,
                                                          const Instant& now) {
  StoreResult<JobsDocument> document = jobsIn(handleOf(term).document());
  if (!document) return document.error();
  return std::make_shared<TermLedger>(term, std::move(job), *document, wall, now);
}

TermLedger::TermLedger(const Leadership& term, Job job, const JobsDocument& document, sys_seconds wall,
                       const Instant& now)
    : term_{term},
      job_{std::move(job)},
      origin_{handleOf(term).origin()},
      runs_{ledgerOf(document, job_.name)},
      pauseFrom_{now},
      began_{now} {
  doubt(withinRange(wall), document);
}

/// A ledger that says in which history it was whole is judged by that. The first term of a history may have ended
/// before it wrote anything, and the record is one of the present history all the same.
void TermLedger::doubt(sys_seconds wall, const JobsDocument& document) {
  const std::string& present = origin_.term.history;
  const auto whole = document.histories.find(job_.name);
  const bool otherHistory = !present.empty() && whole != document.histories.end() && whole->second != present;
  const bool lost = origin_.term.inherited || otherHistory;
  const bool erased = handleOf(term_).document().empty();  // the record was deleted
  if (lost) doubtedAt_ = RunStart{term_.fencingToken(), std::string{nobodyKnows}, wall};
  // By the record nobody has led since. It may have more than is known, by a write that was not answered; if it has
  // less, it is an older copy.
  const bool isNext = !origin_.last.isNone() && origin_.term.after == origin_.last;
  if (const auto known = jobsIn(origin_.known)) {
    JobRuns before = ledgerOf(*known, job_.name);
    if (lost || erased || (isNext && !runs_.hasLastOf(before))) known_ = std::move(before);
  }
  if (!restore(runs_)) return;
  leftOut_ =
      "the period of " + textOf(job_.schedule.latestAt(wall)) +
      " is left out (at_most_once), because it is not known whether it was started: the store may have lost the last "
      "writes of an earlier term, since its history changed or an older copy was put back. If the job has not "
      "run, use tenure jobs forget";
}

/// Says whether the present period is left out. The same again changes nothing.
bool TermLedger::restore(JobRuns& runs) const {
  runs.learn(known_, job_.schedule);
  if (!doubtedAt_ || job_.policy.guarantee != Guarantee::atMostOnce) return false;
  return runs.doubt(job_.schedule.latestAt(doubtedAt_->now), *doubtedAt_, job_.schedule);
}

bool TermLedger::settle(DocumentWrites::Done done) {
  if (!doubtedAt_ && known_ == JobRuns{}) return false;
  write([](JobRuns&) { return std::optional<std::string>{}; }, [] {}, std::move(done));
  return true;
}

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
        return "the ledger in the lease's record has no unfinished run of this term";
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
  auto change = [self = shared_from_this(), step = std::move(step), written](const std::string& document) {
    StoreResult<JobsDocument> jobs = jobsIn(document);
    if (!jobs) return StoreResult<std::string>{jobs.error()};
    const std::string& name = self->job_.name;
    auto why = jobs->jobs.count(name) == 0 ? faultOfAnother(*jobs) : std::nullopt;
    JobRuns& runs = jobs->jobs[name];
    static_cast<void>(self->restore(runs));
    if (const std::string& history = self->origin_.term.history; !history.empty()) jobs->histories[name] = history;
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
