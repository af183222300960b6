// The periods of a job under `tenure run`: what is due, and what the leader's record says of its runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <tenure/election/leadership.hpp>
#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/logger.hpp>

#include "cli/process/process.hpp"
#include "cli/process/wakeups.hpp"
#include "election/jobs/src/term_ledger.hpp"

namespace tenure::cli {

/// The ledger of one job, under one term at a time. It never waits: it is asked in each turn of the supervisor's loop
/// while no process of the job runs, and answers of the store become tasks of that loop. Not thread-safe.
///
/// Wall clocks name the periods. Pauses are measured by the library's clock.
class PeriodicJob {
 public:
  struct Options {
    TermLedger::Job job;
    /// Only what is due when the first term begins; then it is done.
    bool once{false};
    /// How long to wait before a begin that the store refused is tried again.
    std::chrono::nanoseconds afterError{0};
    /// Asked at least so often, because wall clocks can be set.
    std::chrono::nanoseconds lookAtLeast{std::chrono::seconds{1}};
  };
  using WallClock = std::function<std::chrono::milliseconds()>;

  /// `tasks` must outlive it, and it must outlive the electors of its terms, which answer its writes. `wall` tells the
  /// time since 1970.
  PeriodicJob(Options options, MainTasks& tasks, Logger logger, WallClock wall);

  [[nodiscard]] const std::string& name() const noexcept { return options_.job.name; }

  /// A term begins, and the one before is forgotten. Returns why no run may begin under it.
  [[nodiscard]] std::optional<std::string> beginTerm(const Leadership& term, const Instant& now);
  /// The term is over or given up; answers that still come are of no interest.
  void endTerm();

  enum class Step {
    wait,     ///< for an answer, or until `untilLook`
    run,      ///< start the job, then call `started` or `ended`
    done,     ///< once: nothing more is due
    refused,  ///< once: the store refused to note the begin
    giveUp,   ///< nothing more is to be run under this term, because of `whyGivesUp`
  };
  /// Of a term that leads, while no process of the job is there.
  [[nodiscard]] Step act(const Instant& now);
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilLook() const;

  /// What the job of the run finds in its environment.
  void describeRun(std::map<std::string, std::string>& environment) const;
  /// " for period 2026-11-21T03:00:00Z (attempt 2)".
  [[nodiscard]] std::string runText() const;
  void started() noexcept { stage_ = Stage::runs; }
  /// Nothing of the job is left. Notes how it ended: the work of the term goes on while `notesEnd`.
  void ended(const ExitStatus& status, bool byItself, const Instant& now);
  /// No process could be made for it. This is noted as a failed run, and then the term is given up: another copy may be
  /// able to start it.
  void couldNotStart(const Instant& now);
  [[nodiscard]] bool notesEnd() const noexcept { return stage_ == Stage::ends; }

  [[nodiscard]] const std::string& whyGivesUp() const noexcept { return whyGivesUp_; }

  /// How the last run of this process ended, as a shell reports it; none: it has run nothing.
  [[nodiscard]] const std::optional<int>& lastCode() const noexcept { return lastCode_; }

 private:
  enum class Stage {
    asks,    ///< nothing is under way
    begins,  ///< the begin is being written
    begun,   ///< it is in the record
    runs,    ///< the supervisor has a process for it
    ends,    ///< the end is being written
    givesUp,
  };

  [[nodiscard]] std::chrono::sys_seconds wallNow() const;
  [[nodiscard]] Step decide(const Instant& now);
  [[nodiscard]] Step begin(const BeginRun& run);
  [[nodiscard]] DocumentWrites::Done answerTo(void (PeriodicJob::*taken)(const DocumentAnswer&));
  void takeBegin(const DocumentAnswer& answer);
  void takeEnd(const DocumentAnswer& answer);
  void tellNothingDue(std::chrono::sys_seconds next);
  void tellLeftOut() const;
  [[nodiscard]] std::string lastRunText() const;

  const Options options_;
  MainTasks& tasks_;
  const Logger logger_;
  const WallClock wall_;

  std::shared_ptr<TermLedger> ledger_;
  Stage stage_{Stage::asks};
  BeginRun run_{};
  bool refused_{false};               ///< the last begin, since the last look
  std::optional<Instant> refusedAt_;  ///< the look that found it refused
  std::optional<std::chrono::nanoseconds> pause_;
  std::optional<std::chrono::sys_seconds> toldNext_;
  std::optional<std::chrono::sys_seconds> lastDue_;  ///< once: periods after this one are for others
  std::optional<int> lastCode_;
  std::string whyGivesUp_;  ///< empty: the term goes on when the end is in the record
  std::uint64_t asked_{0};  ///< writes so far, so that an answer to an earlier one is recognised
};

}  // namespace tenure::cli
