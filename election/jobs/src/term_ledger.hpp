// One job's ledger under one term: what was begun, as the record of the lease has it, and the writes that change it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <tenure/election/leadership.hpp>
#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "election/src/document_writes.hpp"
#include "job_runs.hpp"
#include "jobs_document.hpp"

namespace tenure {

/// Thread-safe. It copies the Leadership, and lives as long as one of its writes is under way.
class TENURE_API TermLedger : public std::enable_shared_from_this<TermLedger> {
 public:
  /// The name and the policy must have no fault.
  struct Job {
    std::string name;
    Schedule schedule;
    JobPolicy policy;
  };

  /// ErrorClass::corrupt: the record's data are not understood, or are somebody else's. Then the job must not run.
  /// `wall`: by the wall clock. `now`: pauses after attempts of earlier terms count from here.
  ///
  /// Where the store may have lost writes since the ledger was last known to be whole (TermOrigin), the ledger gets
  /// back what this process knows from its own last term. With Guarantee::atMostOnce the period of `wall` counts as
  /// begun, if it was not: a term that is lost may have begun it. Whoever leads has waited a whole lease in the store's
  /// present history first, so later periods were begun by nobody, while wall clocks differ by less than a lease.
  [[nodiscard]] static StoreResult<std::shared_ptr<TermLedger>> open(const Leadership& term, Job job,
                                                                     std::chrono::sys_seconds wall, const Instant& now);
  /// What open() has found out goes into the record, for the terms after this one. `done` as of begin(). False: there
  /// is nothing to write, and `done` is not called. If the record does not get it, it counts in this term all the same.
  bool settle(DocumentWrites::Done done);
  /// The period that is left out because it is not known whether it was started, for a log line; empty: none is.
  [[nodiscard]] const std::string& leftOut() const noexcept { return leftOut_; }

  /// `wall`: by the wall clock, which names periods. `now`: by the library's clock, which counts pauses.
  /// BeginRun::pause is what is left of the pause. RunIsOpen: also while a write is under way, and after one of which
  /// nobody knows what became, because the term is over then.
  [[nodiscard]] JobDecision decide(std::chrono::sys_seconds wall, const Instant& now) const;

  /// Writes into the record that this run was begun. It may start once `done(recorded)` came and the term leads then.
  /// Refused: as if it had never been asked for; so is a job that would be one more than mostJobs in the record.
  void begin(const BeginRun& run, std::chrono::sys_seconds wall, DocumentWrites::Done done);

  /// Writes how it ended; `outcome` is not `lost`. Wait for the answer before the work of the term is said to have
  /// ended, or else the run may count as lost. Refused: the run stays open, and this may be called again.
  void end(RunOutcome outcome, std::optional<int> exitCode, const Instant& now, DocumentWrites::Done done);

  /// As the record has it.
  [[nodiscard]] JobHistory history() const;
  /// Whether the period was begun or counts as missed.
  [[nodiscard]] bool contains(std::chrono::sys_seconds period) const;
  [[nodiscard]] const Job& job() const noexcept { return job_; }
  [[nodiscard]] const Leadership& term() const noexcept { return term_; }

  TermLedger(const Leadership& term, Job job, const JobsDocument& document, std::chrono::sys_seconds wall,
             const Instant& now);

 private:
  void doubt(std::chrono::sys_seconds wall, const JobsDocument& document);
  [[nodiscard]] bool restore(JobRuns& runs) const;
  /// Changes the ledger; says why if it does not.
  using Step = std::function<std::optional<std::string>(JobRuns&)>;
  /// With the lock held, once the step is in the record.
  using Then = std::function<void()>;
  void write(Step step, Then then, DocumentWrites::Done done);

  const Leadership term_;
  const Job job_;
  const DocumentWrites::Origin origin_;
  // Constant after construction.
  std::optional<RunStart> doubtedAt_{};  ///< set: the ledger may lack what came after it
  JobRuns known_{};                      ///< from a term of this process
  std::string leftOut_{};

  mutable std::mutex mutex_;  ///< guards what follows; not held while a Done runs
  JobRuns runs_;              ///< as the record has it
  Instant pauseFrom_;         ///< the end of the last attempt of this term, or the start of the term
  Instant began_;             ///< when the last run of this term was recorded as begun
  unsigned underWay_{0};
  bool over_{false};  ///< nobody knows what the record has
};

}  // namespace tenure
