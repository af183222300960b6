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
#include "exit_codes.hpp"
#include "first_contact.hpp"
#include "guard_channel.hpp"
#include "guard_keeper.hpp"
#include "hook_run.hpp"
#include "job_counts.hpp"
#include "job_deadline.hpp"
#include "job_run.hpp"
#include "periodic_job.hpp"
#include "routing.hpp"
#include "service_notifier.hpp"
#include "signals.hpp"
#include "startup_log.hpp"
#include "supervisor_waits.hpp"
#include "wakeups.hpp"

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

/// One thread, one loop. Everything happens on the thread that calls `run`. It must be the main thread and must not end
/// before the process, because the job's parent-death signal depends on it. The elector's threads only post tasks.
class Supervisor {
 public:
  /// For a config without faults. Starts the guard. Throws std::system_error.
  Supervisor(GroupConfig config, SupervisorOptions options, const SignalState& signals);
  ~Supervisor();
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

  [[nodiscard]] bool beginToListen();
  void compete();
  [[nodiscard]] CandidacyEvents events();
  void beginTerm(const Leadership& term, WorkHandle handle);
  void beginWork();
  void startJob();
  [[nodiscard]] bool tellNotStarted(const std::string& what, const std::exception& error) const;
  void endJob();
  void judgeEnd(const ExitStatus& status, bool byItself);
  void betweenRuns(const Instant& now);
  void actOnPeriods(const Instant& now);
  void endTerm();

  // Hooks, in the order of a term.
  void startElected();
  void endElected();
  void startRenewed(FencingToken token);
  void endRenewed();
  void startRevoked();
  void endRevoked();
  void actHooks(const Instant& now);
  void dropTerm();
  /// The term is given up or lost, and its work is not over: on_revoked runs, or has failed.
  [[nodiscard]] bool endsTerm() const noexcept { return revoking_ || holding_; }
  [[nodiscard]] std::chrono::nanoseconds untilInvalid(const Instant& now) const;
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilHooks(const Instant& now) const;
  [[nodiscard]] JobSpec hookSpec(const std::string& command) const;

  void settle(const Instant& now);

  /// Ends the program with this code once the job is gone and the lease is released. The code of the first call counts.
  void leave(int code);
  void stopPolitely(int signal);
  [[nodiscard]] int codeOfStop(int signal) const;
  void hurry();
  void pauseAndCompete(bool failed, const std::string& why);
  void noteHolder(const std::optional<LeaderInfo>& leader);
  /// On stderr. Where its lines are for programs (log.format), this is one of them.
  void complain(const std::string& message) const;

  void makeContact(const Instant& now, const LeaseStatus& lease);
  void giveUpWaiting(const Instant& now, const LeaseStatus& lease);
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilQuit(const Instant& now) const;
  [[noreturn]] void quit();

  void tellService(const Instant& now);
  [[nodiscard]] std::string serviceText() const;

  [[nodiscard]] JobSpec termSpec() const;
  [[nodiscard]] JobSpec jobSpec() const;

  // Constant after construction.
  const bool terminates_;  ///< on_lost: terminate
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
  RestartDelay restartDelay_;

  /// Null: the command runs for as long as this copy leads. It must outlive the candidacy, whose end may still answer
  /// its writes.
  std::unique_ptr<PeriodicJob> periods_;
  std::unique_ptr<Candidacy> candidacy_;
  ElectorView view_{};  ///< of the present candidacy or the last
  std::optional<ops::HttpListener> http_;
  const std::shared_ptr<JobCounts> jobCounts_{std::make_shared<JobCounts>()};
  std::optional<Leadership> term_;
  bool inDoubt_{false};  ///< the last renewal of this term failed
  WorkHandle work_;
  std::unique_ptr<JobRun> job_;        ///< or the hook on_elected, under the same guard
  bool electing_{false};               ///< it is the hook
  bool electedIsLate_{false};          ///< and was killed for its time
  std::unique_ptr<HookRun> renewing_;  ///< on_renewed
  bool renewalHookFails_{false};       ///< which was told
  std::unique_ptr<HookRun> revoking_;  ///< on_revoked
  bool holding_{false};                ///< on_revoked failed: the lease must expire
  Instant jobBegan_{};

  ServiceNotifier service_;
  std::optional<LeaderInfo> leader_;  ///< as last seen
  FirstContact firstContact_;
  bool waitTold_{false};  ///< that it waits for its store
  WaitLimit waitLimit_;
  std::optional<ReleaseResult> stopped_;
  std::optional<Instant> pausedAt_;
  std::optional<Instant> gaveUpAt_;  ///< when the wait was over
  bool mayHaveAcquired_{false};      ///< an acquisition was under way then
  std::optional<int> exitCode_;
  std::optional<Instant> stopAskedAt_;
  DelayedNote holderNote_;
  DelayedNote stubbornNote_;
  bool finished_{false};
};

}  // namespace tenure::cli
