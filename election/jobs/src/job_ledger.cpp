#include <algorithm>
#include <stop_token>
#include <utility>

#include <tenure/jobs/job_ledger.hpp>

#include "election/src/term_handle.hpp"
#include "job_faults.hpp"
#include "lockcore/runtime/waiter.hpp"
#include "term_ledger.hpp"
#include "wall_clock.hpp"

namespace tenure {

using std::chrono::nanoseconds;

namespace {

/// Wall clocks may be set, so nothing waits for one longer than this.
constexpr nanoseconds longestWait = std::chrono::seconds{1};

nanoseconds waitFor(const JobDecision& decision) {
  if (const auto* run = std::get_if<BeginRun>(&decision)) return std::min<nanoseconds>(run->pause, longestWait);
  return longestWait;  // whole seconds: no period begins sooner
}

/// Waits until the term's work is told to stop, for at most so long.
void pauseUnderTerm(const Leadership& term, nanoseconds length) {
  const auto stopped = std::make_shared<Waiter<bool>>();
  const std::stop_callback stop{term.stopToken(), [stopped] { stopped->tell(true); }};
  static_cast<void>(stopped->waitFor(length));
}

}  // namespace

class JobLedger::Impl {
 public:
  Impl(std::shared_ptr<TermLedger> ledger, WallClock clock) : ledger_{std::move(ledger)}, wall_{std::move(clock)} {}

  [[nodiscard]] StoreResult<std::optional<JobRun>> next(bool waits) {
    while (term().leads()) {
      const auto wall = wall_();
      const JobDecision decision = ledger_->decide(wall, now());
      const auto* due = std::get_if<BeginRun>(&decision);
      if (due != nullptr && due->pause.count() == 0) return begin(*due, wall);
      if (!waits || std::holds_alternative<RunIsOpen>(decision)) break;
      pauseUnderTerm(term(), waitFor(decision));
    }
    return std::optional<JobRun>{};
  }

  [[nodiscard]] StoreResult<void> end(RunOutcome outcome, std::optional<int> exitCode) {
    const auto answer =
        answerOf([&](DocumentWrites::Done done) { ledger_->end(outcome, exitCode, now(), std::move(done)); });
    if (answer.kind != DocumentAnswer::Kind::recorded) return notRecorded(answer, "how a run ended");
    return {};
  }

  /// Waits for the answer, whatever it is: next() would take the write under way for a run without an end.
  void settle() {
    const auto settled = std::make_shared<Waiter<bool>>();
    if (ledger_->settle([settled](const DocumentAnswer&) { settled->tell(true); })) static_cast<void>(settled->wait());
  }

  [[nodiscard]] const TermLedger& ledger() const { return *ledger_; }
  [[nodiscard]] bool isHere() const noexcept { return handleOf(term()).mark.isHere(); }

 private:
  [[nodiscard]] const Leadership& term() const { return ledger_->term(); }
  [[nodiscard]] Instant now() const { return handleOf(term()).clock->now(); }

  template <class Ask>
  static DocumentAnswer answerOf(const Ask& ask) {
    const auto waiter = std::make_shared<Waiter<DocumentAnswer>>();
    ask([waiter](const DocumentAnswer& answer) { waiter->tell(answer); });
    return waiter->wait();
  }
  [[nodiscard]] StoreError notRecorded(const DocumentAnswer& answer, const std::string& what) const {
    return {ErrorClass::transient,
            "job " + ledger_->job().name + ": the lease's record does not have " + what + ": " + answer.why};
  }

  [[nodiscard]] StoreResult<std::optional<JobRun>> begin(const BeginRun& due, std::chrono::sys_seconds wall) {
    const auto answer = answerOf([&](DocumentWrites::Done done) { ledger_->begin(due, wall, std::move(done)); });
    if (answer.kind == DocumentAnswer::Kind::refused) return notRecorded(answer, "that a run begins");
    const bool begun = answer.kind == DocumentAnswer::Kind::recorded;
    if (begun && term().leads())
      return std::optional{JobRun{ledger_->job().name, due.period, due.attempt, term(), term().stopToken()}};
    if (begun) static_cast<void>(end(RunOutcome::stopped, {}));  // if the term has some time left
    return std::optional<JobRun>{};
  }

  std::shared_ptr<TermLedger> ledger_;
  WallClock wall_;
};

StoreResult<JobLedger> JobLedger::open(const Leadership& term, std::string name, Schedule schedule, JobPolicy policy,
                                       WallClock clock) {
  if (OptionFaults faults = faultsOfJob(name, policy); !faults.empty()) throw_exception_from_error(faults, {});
  clock = orSystemClock(std::move(clock));
  auto ledger =
      TermLedger::open(term, {std::move(name), std::move(schedule), policy}, clock(), handleOf(term).clock->now());
  if (!ledger) return ledger.error();
  auto impl = std::make_unique<Impl>(*std::move(ledger), std::move(clock));
  impl->settle();
  return JobLedger{std::move(impl)};
}

JobLedger::JobLedger(std::unique_ptr<Impl> impl) : impl_{std::move(impl)} {}
JobLedger::JobLedger(JobLedger&&) noexcept = default;
JobLedger& JobLedger::operator=(JobLedger&&) noexcept = default;
JobLedger::~JobLedger() = default;

StoreResult<std::optional<JobRun>> JobLedger::next() {
  auto* own = inItsProcess(impl_);
  return own != nullptr ? own->next(true) : std::optional<JobRun>{};
}
StoreResult<std::optional<JobRun>> JobLedger::tryNext() {
  auto* own = inItsProcess(impl_);
  return own != nullptr ? own->next(false) : std::optional<JobRun>{};
}
StoreResult<void> JobLedger::end(RunOutcome outcome, std::optional<int> exitCode) {
  if (auto* own = inItsProcess(impl_)) return own->end(outcome, exitCode);
  return StoreError{ErrorClass::misconfigured, "this process is a forked child, and the term is its parent's"};
}
JobHistory JobLedger::history() const {
  auto* own = inItsProcess(impl_);
  return own != nullptr ? own->ledger().history() : JobHistory{};
}

}  // namespace tenure
