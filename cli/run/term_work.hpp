// The work of a term: the job, once or in each period, the hooks before, beside and after it, and what keeps the lease
// until all that is over.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <poll.h>
#include <set>
#include <string>
#include <vector>

#include <tenure/config/group_config.hpp>
#include <tenure/election/leadership.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/logger.hpp>

#include "candidacy.hpp"
#include "cli/process/process.hpp"
#include "cli/process/wakeups.hpp"
#include "guard_channel.hpp"
#include "job.hpp"
#include "job_counts.hpp"
#include "job_deadline.hpp"
#include "periodic_job.hpp"
#include "shutdown.hpp"

namespace tenure::cli {

/// The job or the hook on_elected, with all its processes: JobRun.
class JobProcess {
 public:
  JobProcess() = default;
  JobProcess(const JobProcess&) = delete;
  JobProcess& operator=(const JobProcess&) = delete;
  virtual ~JobProcess() = default;

  [[nodiscard]] virtual pid_t id() const noexcept = 0;
  /// "the job (process 12)".
  [[nodiscard]] virtual std::string who() const = 0;
  /// The value of `jobVariable` that makes another process a part of this job: it is ended with the job.
  [[nodiscard]] virtual const std::string& mark() const noexcept = 0;

  /// SIGTERM, then the drain timeout or the end of validity, then SIGKILL.
  virtual void stop(const std::string& why) = 0;
  /// SIGKILL at the next `act`.
  virtual void hurry(const std::string& why) = 0;
  /// Any other signal, to the job's first process only.
  virtual void forward(int signal) const noexcept = 0;

  /// What to wait for in addition to the time; entries may be -1.
  [[nodiscard]] virtual std::vector<pollfd> descriptors() const = 0;
  [[nodiscard]] virtual std::optional<std::chrono::nanoseconds> untilWake(const Instant& now) const = 0;
  virtual void act(const Instant& now) = 0;

  /// True when nothing of the job is left.
  [[nodiscard]] virtual bool isOver() const noexcept = 0;
  /// How its first process ended; set once it has ended.
  [[nodiscard]] virtual const std::optional<ExitStatus>& status() const noexcept = 0;
  /// The errno of exec if the command could not be executed, else zero.
  [[nodiscard]] virtual int execError() const noexcept = 0;
  /// Its reaper was killed, so it was ended.
  [[nodiscard]] virtual bool lostReaper() const noexcept = 0;
  /// It was told to stop (by this process or the guard) before its first process ended.
  [[nodiscard]] virtual bool wasStopped() const noexcept = 0;
  /// It had begun, and something of it was left for SIGKILL, whoever sent that.
  [[nodiscard]] virtual bool wasKilled() const noexcept = 0;
};

/// A hook without a guard: HookRun.
class HookProcess {
 public:
  HookProcess() = default;
  HookProcess(const HookProcess&) = delete;
  HookProcess& operator=(const HookProcess&) = delete;
  virtual ~HookProcess() = default;

  [[nodiscard]] virtual pollfd descriptor() const noexcept = 0;
  [[nodiscard]] virtual std::chrono::nanoseconds untilWake(const Instant& now) const = 0;
  virtual void act(const Instant& now) = 0;
  /// SIGKILL to all of it.
  virtual void kill() noexcept = 0;

  /// How it ended: empty while it runs.
  [[nodiscard]] virtual const std::optional<ExitStatus>& status() const noexcept = 0;
  /// It was killed for its time, whether or not it has ended yet.
  [[nodiscard]] virtual bool isLate() const noexcept = 0;
  /// A process of it that cannot be ended, because it runs as another user; 0: none.
  [[nodiscard]] virtual pid_t stays() const noexcept = 0;
  /// "hook on_renewed was killed after 10s, its time limit" and the like.
  [[nodiscard]] virtual std::string text() const = 0;
  [[nodiscard]] bool succeeded() const noexcept { return !isLate() && status() && status()->shellCode() == 0; }
};

/// Where the processes of a term come from. Throws std::system_error if none can be started.
struct TermProcesses {
  std::function<std::unique_ptr<JobProcess>(const JobSpec& spec, const std::string& name)> job;
  /// `endsWithTerm`: it must not outlive the term, also if this process is frozen.
  std::function<std::unique_ptr<HookProcess>(const std::string& name, const JobSpec& spec, const Instant& now,
                                             bool endsWithTerm)>
      hook;
};

/// Called while the work acts, on its thread.
struct TermWorkEvents {
  std::function<void(int code)> leave;  ///< the program ends with this code once the lease is released
  /// The term is given up; this copy competes again after a pause. `ran`: for how long the work went on.
  std::function<void(bool failed, std::chrono::nanoseconds ran, const std::string& why)> giveUp;
  std::function<void(const std::string&)> complain;
  std::function<void()> jobStarts;
};

/// It reads no clock and waits for nothing: `descriptors` and `untilWake` say when to call `act`. The lease may be
/// released only when `isOver` (I9). One thread.
class TermWork {
 public:
  struct Options {
    std::string lease;  ///< its name, for people
    std::vector<std::string> command;
    bool once{false};
    bool terminates{false};  ///< on_lost: terminate
    HooksConfig hooks{};
    /// What a process finds that acts under a term; and what the job alone finds.
    std::function<JobSpec(const Leadership& term)> spec;
    std::map<std::string, std::string> jobEnvironment{};
  };

  /// What it works with, and tells of what it does; all of that must outlive it. `periods` is null if the command runs
  /// for as long as this copy leads, `progress` if the job has nothing to show.
  struct Parts {
    const LeaseTiming& timing;
    const Shutdown& shutdown;
    GuardChannel& channel;
    TermPublisher& publisher;
    JobCounts& counts;
    PeriodicJob* periods;
    ProgressPipe* progress;
    Logger logger;
  };

  TermWork(Options options, Parts parts, TermProcesses processes, TermWorkEvents events);

  /// A term begins. The handle is released when its work is over.
  void begin(const Leadership& term, WorkHandle handle, const Instant& now);
  /// The elector's notices.
  void leadershipEnds(FencingToken token);
  void renewed(FencingToken token, const Instant& now);
  void doubted(bool inDoubt) noexcept { inDoubt_ = inDoubt; }
  /// `lease.probe` has succeeded; it began so long ago.
  void probed(std::chrono::nanoseconds ago) const;
  /// From the election until the lease may be released.
  [[nodiscard]] bool hasTerm() const noexcept { return term_.has_value(); }

  /// Empty: no process runs under the guard.
  [[nodiscard]] JobProcess* job() const noexcept { return job_.get(); }
  [[nodiscard]] bool isElecting() const noexcept { return electing_; }
  /// Ends what runs. False: nothing does, or SIGKILL has not ended it.
  [[nodiscard]] bool hurry();
  void forward(int signal) const noexcept;

  [[nodiscard]] std::vector<pollfd> descriptors() const;
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilWake(const Instant& now) const;
  void act(const Instant& now);
  [[nodiscard]] bool isOver() const noexcept { return !job_ && !endsSince_; }
  /// "leading group billing, token 3", "draining"; empty: there is no term, and nothing of one is left.
  [[nodiscard]] std::string text(const std::string& group) const;

 private:
  /// In place of the job, which would report progress.
  [[nodiscard]] bool runsHook() const noexcept { return electing_ || endsSince_; }
  [[nodiscard]] std::chrono::nanoseconds untilInvalid(const Instant& now) const;
  [[nodiscard]] JobSpec jobSpec() const;
  [[nodiscard]] JobSpec hookSpec(const std::string& command, const Instant& now) const;
  [[nodiscard]] bool sayNotStarted(const std::string& what, const std::exception& error) const;
  void giveUp(bool failed, const std::string& why, const Instant& now) const;

  void beginWork(const Instant& now);
  void startJob(const Instant& now);
  void endJob(const Instant& now);
  void judgeEnd(const ExitStatus& status, bool byItself, const Instant& now);
  void betweenRuns(const Instant& now);
  void actOnPeriods(const Instant& now);
  void endTerm(const Instant& now);
  void finishTerm(const Instant& now);

  // Hooks, in the order of a term.
  void startElected(const Instant& now);
  void endElected(const Instant& now);
  void tellWhoStays(const HookProcess& hook, const char* name);
  void lookAtRenewed(const Instant& now);
  void startRevoked(const Instant& now);
  void lookAtRevoked();
  [[nodiscard]] bool electedMayBeLate() const { return electing_ && !electedIsLate_ && !job_->status(); }
  void actHooks(const Instant& now);
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilHooks(const Instant& now) const;

  const Options options_;
  const Parts parts_;
  const TermProcesses processes_;
  const TermWorkEvents events_;

  std::optional<Leadership> term_;
  bool inDoubt_{false};  ///< the last renewal of this term failed
  WorkHandle work_;
  Instant began_{};                        ///< the job or on_elected
  std::unique_ptr<JobProcess> job_;        ///< or the hook on_elected, under the same guard
  bool electing_{false};                   ///< it is the hook
  bool electedIsLate_{false};              ///< and was killed for its time
  std::chrono::nanoseconds renewedAt_{0};  ///< as `act` saw it, by the boot clock
  std::unique_ptr<HookProcess> renewing_;  ///< on_renewed
  bool renewalHookFails_{false};           ///< which was said
  std::set<pid_t> toldStays_;              ///< of both
  /// The term is given up or lost: on_renewed was killed and has not ended, or on_revoked runs or has failed.
  std::optional<Instant> endsSince_;
  bool revokes_{false};                    ///< on_revoked is still to run
  std::unique_ptr<HookProcess> revoking_;  ///< on_revoked
  bool holding_{false};                    ///< on_revoked failed: the lease must expire
};

}  // namespace tenure::cli
