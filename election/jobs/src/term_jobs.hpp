// The jobs of a SingletonScheduler under one term.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <tenure/jobs/singleton_scheduler.hpp>

#include "election/src/scheduler_link.hpp"
#include "lockcore/runtime/patience.hpp"
#include "lockcore/runtime/thread_pool.hpp"
#include "term_ledger.hpp"

namespace tenure {

/// What all terms share. Constant.
struct JobsContext {
  std::vector<ScheduledJob> jobs;
  WallClock wallClock;
  std::shared_ptr<SchedulerLink> link;
  std::shared_ptr<const Clock> clock;
  /// Wall clocks may be set, so nothing waits for one longer than this; and the term needs reports of progress.
  std::chrono::nanoseconds lookEvery;
  /// If a run waits for its thread for so long, and none works, another copy should lead.
  std::chrono::milliseconds patience;
  std::function<std::optional<std::string>()> whyNothingRuns;  ///< that run; empty: a thread takes it
  Executor executor;                                           ///< never throws
  std::shared_ptr<ThreadPool> stopTokens;  ///< for the users' callbacks of stop tokens, which may block
  std::function<void(LogLevel, const std::string&)> log;
};

/// From onElected to the end of onRevoked. A run is begun on the scheduler, works on the executor, and ends on whatever
/// thread its last write is answered. Nothing is called with the lock held.
class TermJobs : public std::enable_shared_from_this<TermJobs> {
 public:
  [[nodiscard]] static std::shared_ptr<TermJobs> begin(std::shared_ptr<const JobsContext> context,
                                                       const Leadership& term);
  TermJobs(std::shared_ptr<const JobsContext> context, const Leadership& term);

  /// No run begins from now on, and the stop tokens of those that go on fire.
  void stop();
  /// After stop(): waits for their ends, and for what the record says of them.
  void awaitEnd();
  /// The handle is destroyed, and perhaps the loop on which the record would answer: awaitEnd() waits no longer than
  /// `patience`.
  void abandon(const Patience& patience);

  /// The calling thread is inside the work of a run.
  [[nodiscard]] bool isInsideWork() const;
  void addTo(std::vector<JobStatus>& statuses) const;

 private:
  struct Run {
    JobRun given;
    std::stop_source stop;
    Instant from;                            ///< when it was given to the executor
    std::chrono::sys_seconds periodOfClock;  ///< the period of the wall clock when it began; it may make up for others
    bool taken{false};                       ///< its work has begun, or never will
    std::optional<RunOutcome> outcome{};     ///< its work has ended
    std::thread::id worker{};

    [[nodiscard]] bool works() const { return taken && !outcome; }
  };
  /// A job is idle, or a run of it is asked for, or there is a run.
  struct Job {
    const ScheduledJob& what;
    std::shared_ptr<TermLedger> ledger{};  ///< null: what the record has is not understood
    bool asked{false};
    std::shared_ptr<Run> run{};
    Instant refusedAt{};  ///< for a pause after a write that the store refused
    std::string error{};

    [[nodiscard]] bool isIdle() const { return !asked && !run; }
  };
  using Task = std::function<void()>;

  void open();
  void lookSoon();
  void look();
  std::chrono::nanoseconds step(Job& job, std::chrono::sys_seconds wall, const Instant& now, std::vector<Task>& tasks);
  std::chrono::nanoseconds stepOfRun(Job& job, std::chrono::sys_seconds wall, const Instant& now,
                                     std::vector<Task>& tasks);
  void stepOfWaiting(Job& job, std::vector<Task>& tasks);
  [[nodiscard]] bool noneWorks() const;
  void begun(Job& job, const BeginRun& due, std::chrono::sys_seconds wall, const DocumentAnswer& answer);
  void work(Job& job, const std::shared_ptr<Run>& run);
  void askToStop(const std::shared_ptr<Run>& run) const;
  void end(Job& job, const std::shared_ptr<Run>& run, RunOutcome outcome, const std::string& why);
  void writeEnd(Job& job, const std::shared_ptr<Run>& run);
  void ended(Job& job, const DocumentAnswer& answer);
  void ready(Job& job, const DocumentAnswer& answer);
  void reportIfNoneWorks() const;
  void noteError(Job& job, const DocumentAnswer& answer, const std::string& what);
  void log(LogLevel level, const Job& job, const std::string& line) const;

  const std::shared_ptr<const JobsContext> context_;
  const Leadership term_;
  std::optional<Scheduler::TimerId> timer_{};  ///< on the scheduler; empty once it has fired

  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable idle_{};
  std::list<Job> jobs_{};
  bool stopping_{false};
  std::optional<Patience> patience_{};                                 ///< none: the handle is there
  std::optional<std::stop_callback<std::function<void()>>> onStop_{};  ///< set before anyone else sees this
};

}  // namespace tenure
