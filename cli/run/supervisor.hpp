// `tenure run`: competes, and runs a job while this copy leads.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenure/config/group_config.hpp>
#include <tenure/election/group.hpp>
#include <tenure/ops/http_listener.hpp>
#include <tenure/ops/metrics.hpp>

#include "candidacy.hpp"
#include "cli/group/routing.hpp"
#include "cli/process/signals.hpp"
#include "cli/process/wakeups.hpp"
#include "guard_channel.hpp"
#include "guard_keeper.hpp"
#include "hook_run.hpp"
#include "job_counts.hpp"
#include "job_deadline.hpp"
#include "periodic_job.hpp"
#include "repeated_check.hpp"
#include "service_notifier.hpp"
#include "shutdown.hpp"
#include "startup_log.hpp"
#include "store_contact.hpp"
#include "supervisor_waits.hpp"
#include "term_work.hpp"

namespace tenure::cli {

struct SupervisorOptions {
  std::vector<std::string> command;
  bool once{false};
  std::optional<std::chrono::milliseconds> wait{};  ///< for leadership; zero: leave as soon as somebody else leads
  std::string configFile;                           ///< absolute, for the job's environment; empty: there is none
  bool namesHolder{false};               ///< reports who holds what the user waits for, whatever the log level
  std::string http{};                    ///< where to listen; empty: nowhere
  std::vector<std::string> httpHosts{};  ///< `http.hosts`
  bool busyIsFine{false};                ///< if somebody else leads when the wait ends, exit with 0
  /// Set: the command is not run for as long as this copy leads, but once in each of the job's periods.
  std::optional<TermLedger::Job> job{};
  HooksConfig hooks{};
  ServiceEnvironment service{};  ///< of the service manager that is told how this copy is; empty: none
  bool jobMayNotify{false};      ///< the job finds these variables as well
};

/// The loop over three owners: the work of a term, the contact with the store, the shutdown. One thread: everything
/// happens on the one that calls `run`. It must be the main thread and must not end before the process, because the
/// job's parent-death signal depends on it. The elector's threads only post tasks.
class Supervisor {
 public:
  /// For a config without faults. Starts the guard. Throws std::system_error.
  Supervisor(GroupConfig config, SupervisorOptions options, const SignalState& signals);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  [[nodiscard]] const Group& group() const noexcept { return group_; }

  /// Returns the exit code of the program.
  [[nodiscard]] int run();

 private:
  // The steps of the loop, in its order.
  void wait();
  void takeSignals();
  void keepGuard();
  void advance(const Instant& now);
  void lookAtStore(const Instant& now);
  void settle(const Instant& now);
  void tellService(const Instant& now);

  [[nodiscard]] bool beginToListen();
  void compete();
  void competeAgain(const Instant& now);
  [[nodiscard]] CandidacyEvents candidacyEvents();
  [[nodiscard]] TermWork::Options workOptions() const;
  [[nodiscard]] TermProcesses processes();
  [[nodiscard]] TermWorkEvents workEvents();
  [[nodiscard]] std::optional<RepeatedCheck> readiness();
  [[nodiscard]] std::optional<RepeatedCheck> probe();
  [[nodiscard]] std::unique_ptr<HookProcess> runProbe(const HookLimit& limit, const Instant& now) const;
  void readyChanged(bool ready, const std::string& why);
  /// What every process finds that is started here.
  [[nodiscard]] JobSpec groupSpec() const;
  [[nodiscard]] JobSpec termSpec(const Leadership& term) const;

  void stopPolitely(int signal, bool first, const Instant& now);
  void hurry();
  /// Ends the program with this code once the job is gone and the lease is released. The code of the first call counts.
  void leave(int code);
  void pauseAndCompete(bool failed, std::chrono::nanoseconds ran, const std::string& why);
  [[noreturn]] void quit();
  void report(const StoreContact::Finding& finding);
  /// On stderr. Where its lines are for programs (log.format), this is one of them.
  void complain(const std::string& message) const;
  [[nodiscard]] std::string serviceText() const;

  // Constant after construction.
  const bool terminates_;                  ///< on_lost: terminate
  const std::string noticeConfiguration_;  ///< GuardChannel::create
  const LogFormat logFormat_;
  const SupervisorOptions options_;
  QuietLog quietLog_;
  StartupLog startupLog_;
  const Logger logger_;  ///< puts the group's name before each line
  const Routing routing_;
  const ops::MeteredStore store_;
  const Group group_;  ///< without on_lost: terminate; its log goes through startupLog_
  const SignalState& signalState_;

  SignalEvents signals_;
  MainTasks tasks_;
  WakeTimer timer_;
  GuardChannel channel_;
  GuardKeeper guard_;
  TermPublisher publisher_;
  std::optional<ProgressPipe> progress_;
  const std::shared_ptr<JobCounts> jobCounts_{std::make_shared<JobCounts>()};
  ServiceNotifier service_;

  Shutdown shutdown_;
  StoreContact contact_;
  std::optional<RepeatedCheck> readiness_;  ///< empty: `candidate.ready` is not given
  std::optional<RepeatedCheck> probe_;      ///< empty: there is no `lease.probe`, and the job shows progress
  /// Null: the command runs for as long as this copy leads. It must outlive the candidacy, whose end may still answer
  /// its writes.
  std::unique_ptr<PeriodicJob> periods_;
  std::unique_ptr<Candidacy> candidacy_;
  ElectorView view_{};  ///< of the present candidacy or the last
  std::optional<ops::HttpListener> http_;
  std::optional<ReleaseResult> stopped_;
  RestartDelay restartDelay_;
  std::optional<Instant> pausedAt_;
  DelayedNote stubbornNote_;
  bool finished_{false};
  TermWork work_;  ///< released before the candidacy ends
};

}  // namespace tenure::cli
