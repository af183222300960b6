// SingletonScheduler: periodic jobs that one copy of a program runs at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenure/election/group.hpp>
#include <tenure/election/leader_elector.hpp>
#include <tenure/jobs/job_ledger.hpp>
#include <tenure/jobs/schedule.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/outcomes.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure {

struct ScheduledJob {
  std::string name;  ///< 1..64 bytes of UTF-8 without control characters; the same in all copies
  Schedule schedule;
  JobPolicy policy{};
  Overlap overlap{Overlap::wait};
  /// Does the work of one run, on the executor, and may block. It should return soon after its stop token has fired; a
  /// run that ends then, or after its term, counts as stopped, whether it was done or not. If it throws before, the run
  /// has failed, and the log says why. It may call everything of the scheduler; stop() and the destructor return at
  /// once there. With lease.progressTimeout it reports progress (JobRun::term); while none works, the scheduler does.
  std::function<void(const JobRun&)> work{};
};

struct JobStatus {
  std::string name;
  std::chrono::sys_seconds next;     ///< when the next period begins
  std::optional<OpenRun> running{};  ///< if this copy runs it now
  std::string error{};               ///< why no run begins, waits for a thread or has no end in the record; for people
};

struct SchedulerStatus {
  ElectorStatus elector{};
  std::vector<JobStatus> jobs{};  ///< in the order in which they were given
};

/// Any number of copies may be started with the same group and the same jobs. The elected one runs the jobs side
/// by side, each run in a period of its schedule that no copy has started, as its policy says. The lease's record gets
/// the start of a run before the run begins, and its outcome afterwards (see JobLedger).
///
/// When leadership ends, the stop tokens fire. The lease is released once all runs have ended and the record says so;
/// if that takes longer than lease.drain_timeout, it expires. Runs that continue after that, or on a copy that is
/// frozen, count as lost; the fence must refuse what they still do.
///
/// It reads the wall clock at least every second (with lease.progressTimeout, at least each
/// third of it), so a change of the clock is noticed, and a run begins within a second of its time. It starts no
/// thread: it reads the clock on the Runtime's scheduler, and works on its executor.
///
/// Threads: every method may be called from any thread. In a forked child it does nothing, as LeaderElector.
class TENURE_API SingletonScheduler {
 public:
  struct Options {
    WallClock wallClock{};  ///< empty: the system's
  };

  /// Does nothing before start(). Throws std::invalid_argument with all faults: a group with shards, no job, more
  /// than mostJobs (which says why), a job without work, two of one name, faults of names and policies,
  /// Overlap::replace together with Missed::all.
  SingletonScheduler(Group group, std::vector<ScheduledJob> jobs, Options options, Runtime runtime = {});
  SingletonScheduler(Group group, std::vector<ScheduledJob> jobs);

  /// As LeaderElector's: stops, and waits for the runs at most as long as stop() does. Its own work counts as a
  /// callback: called there, it returns at once.
  ~SingletonScheduler();
  SingletonScheduler(SingletonScheduler&&) noexcept;
  SingletonScheduler& operator=(SingletonScheduler&&) noexcept;

  /// As LeaderElector's, in its own work as in a callback. stop() inside a stop callback of JobRun::stop waits for the
  /// run of that callback, at most as long as it waits for any; call requestStop() there.
  void start();
  void stepDown(std::string why = {}, std::string successor = {});
  ReleaseResult stop();
  void requestStop(std::function<void(ReleaseResult)> done = {});

  [[nodiscard]] SchedulerStatus status() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tenure
