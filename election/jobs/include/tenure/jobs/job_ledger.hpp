// The known runs of a job, and the ledger of one job for the work of a term that runs it itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <tenure/election/leadership.hpp>
#include <tenure/jobs/schedule.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure {

enum class RunOutcome {
  succeeded,
  failed,   ///< the job said so, by its exit code or an exception
  stopped,  ///< it was asked to stop before it was done, because its copy gave up leadership
  lost,     ///< its copy crashed or lost leadership; the end of the run is not recorded
};
[[nodiscard]] TENURE_API std::string_view toString(RunOutcome outcome) noexcept;

/// From one time to another, both included: all periods between them were begun or count as missed.
struct PeriodSpan {
  std::chrono::sys_seconds from;
  std::chrono::sys_seconds to;

  friend bool operator==(const PeriodSpan&, const PeriodSpan&) = default;
};

/// The run that was begun last, until it succeeds or another one is begun.
struct OpenRun {
  std::chrono::sys_seconds period;
  FencingToken token;  ///< the term that began it
  unsigned attempt{1};
  std::chrono::sys_seconds began;  ///< by the wall clock of its copy; for people
  std::string holder;              ///< who ran it; at most 64 bytes
  bool ended{false};               ///< it has an end, but not a good one: it is the last of the past runs

  friend bool operator==(const OpenRun&, const OpenRun&) = default;
};

/// For people. Nothing is decided by it.
struct PastRun {
  std::chrono::sys_seconds period;
  FencingToken token;
  unsigned attempt{1};
  std::chrono::sys_seconds began;
  RunOutcome outcome{RunOutcome::succeeded};
  std::optional<int> exitCode;                        ///< if it was a program that exited
  std::optional<std::chrono::milliseconds> duration;  ///< none if the run was lost
  std::string holder;

  friend bool operator==(const PastRun&, const PastRun&) = default;
};

/// The contents of a ledger: for listings, and for its text.
struct JobHistory {
  std::vector<PeriodSpan> begun;  ///< do not overlap; the one in which a period was begun last comes last
  std::optional<OpenRun> open;
  std::vector<PastRun> past;  ///< the latest is the last

  friend bool operator==(const JobHistory&, const JobHistory&) = default;
};

/// One run of a job, as its work sees it.
struct JobRun {
  std::string job;
  std::chrono::sys_seconds period;  ///< identified by its start time
  unsigned attempt{1};
  /// The term that began it. Stamp every downstream write with its fencing token: a copy that is frozen and wakes up
  /// may still work, and only the fence refuses it.
  Leadership term;
  std::stop_token stop;  ///< fires with the term's, and with Overlap::replace when a newer period is due
};

/// The wall clock of this copy. It only names periods. It must return at once and must not throw.
using WallClock = std::function<std::chrono::sys_seconds()>;

/// The ledger of one job, for work in onElected that runs the job itself. SingletonScheduler does all of this for you.
///
///     auto ledger = JobLedger::open(term, "nightly", schedule);
///     if (!ledger) return log(ledger.error());  // the job must not run
///     while (term.leads()) {
///       const auto run = ledger->next();
///       if (!run) {  // the store refuses it, but may take it later
///         logAndPause(run.error());  // some seconds, but not longer than the term leads
///         continue;
///       }
///       if (!*run) break;  // the term is over
///       const RunOutcome outcome = backUp(**run);
///       auto noted = ledger->end(outcome);
///       for (; !noted && term.leads(); noted = ledger->end(outcome)) logAndPause(noted.error());
///     }
///
/// Take no result of next() or end() by value() without asking first: a rejection would become an exception, which ends
/// the term for something that leaves it as it is.
///
/// The periods that were started are in the lease's record, and outlive the term. The promises of the policies depend
/// on that: a user who deletes the record, or takes the lease with a library that erases its data (AWS's Java client),
/// makes every period unstarted, except those that the next leader's own last term started or found started.
///
/// The record has the ledgers of mostJobs jobs at most, including those of jobs that no longer run.
///
/// Its calls block, so none may be made on the scheduler. One thread at a time may use it. It is for a LeaderElector.
class TENURE_API JobLedger {
 public:
  /// ErrorClass::corrupt: the record's data are not understood, or not the library's; then the job must not run. Throws
  /// std::invalid_argument for a name or a policy with a fault. `clock`: empty: the system's.
  [[nodiscard]] static StoreResult<JobLedger> open(const Leadership& term, std::string name, Schedule schedule,
                                                   JobPolicy policy = {}, WallClock clock = {});

  /// Waits until a run is due, and until the record says that it was started. Empty: the term is over, or the last run
  /// has no end. An error: the store refuses the ledger, such as one that is too long; the term continues.
  [[nodiscard]] StoreResult<std::optional<JobRun>> next();
  /// The same without waiting for a run that is not due: empty then too.
  [[nodiscard]] StoreResult<std::optional<JobRun>> tryNext();

  /// Records how the last run ended (not `lost`), and waits until the record has it. An error: it does not have it; if
  /// the term is over, the run counts as lost.
  [[nodiscard]] StoreResult<void> end(RunOutcome outcome, std::optional<int> exitCode = {});

  [[nodiscard]] JobHistory history() const;

  JobLedger(JobLedger&&) noexcept;
  JobLedger& operator=(JobLedger&&) noexcept;
  ~JobLedger();

 private:
  class Impl;
  explicit JobLedger(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure
