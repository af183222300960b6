// The life of one job in one term: from the barrier at which it waits (job.hpp) to the end of its last process.
#pragma once

#include <chrono>
#include <optional>
#include <poll.h>
#include <string>
#include <vector>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/logger.hpp>

#include "guard_channel.hpp"
#include "guard_keeper.hpp"
#include "job.hpp"
#include "term_work.hpp"

namespace tenure::cli {

/// Runs a job and ends it on time. The times are judged by what is published in the guard channel, so supervisor and
/// guard follow one rule. Not thread-safe: the supervisor's main thread owns it. It never waits: `descriptors` and
/// `untilWake` say when to call `act`.
///
/// A job is over when the kernel says that all its processes are gone (reaper.hpp). If its first process ends and
/// others are left, they are told to stop, as if leadership had been given up.
class JobRun final : public JobProcess {
 public:
  /// Starts the job behind its barrier and hands it to the guard. The term must have been published. Throws
  /// std::system_error if no process can be started.
  JobRun(const JobSpec& spec, std::chrono::nanoseconds drainTimeout, GuardChannel& channel, GuardKeeper& guard,
         const SignalState& signals, Logger logger, std::string name = "the job");
  ~JobRun() override;

  [[nodiscard]] const Job& job() const noexcept { return job_; }

  [[nodiscard]] pid_t id() const noexcept override { return job_.id(); }
  [[nodiscard]] std::string who() const override;
  [[nodiscard]] const std::string& mark() const noexcept override { return mark_; }
  void stop(const std::string& why) override;
  void hurry(const std::string& why) override { hurried_ = why; }
  void forward(int signal) const noexcept override;
  [[nodiscard]] std::vector<pollfd> descriptors() const override;
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilWake(const Instant& now) const override;
  void act(const Instant& now) override;
  [[nodiscard]] bool isOver() const noexcept override { return over_; }
  [[nodiscard]] const std::optional<ExitStatus>& status() const noexcept override { return status_; }
  [[nodiscard]] int execError() const noexcept override { return execError_; }
  [[nodiscard]] bool lostReaper() const noexcept override { return !job_.isReaped(); }
  [[nodiscard]] bool wasStopped() const noexcept override { return stopped_; }
  [[nodiscard]] bool wasKilled() const noexcept override { return barrierOpen_ && (killed_ || channel_.wasKilled()); }

 private:
  void passBarrier(const Instant& now);
  void takeExecResult();
  void noteEnding();
  /// Reports that the job has been stopped, and by which signal, because it looks like a job that hangs.
  void noteStops();
  void tellWhoStays();
  void terminate(const Instant& now, const std::string& why);
  void kill(const std::string& why);
  [[nodiscard]] std::chrono::nanoseconds untilKill(const Instant& now) const;

  std::string name_;
  std::string identity_;
  std::string mark_;
  GuardChannel& channel_;
  GuardKeeper& guard_;
  Logger logger_;
  std::chrono::nanoseconds drainTimeout_;
  Job job_;
  bool barrierOpen_{false};
  int execError_{0};
  std::optional<std::string> stopWhy_;
  std::optional<std::string> hurried_;  ///< why
  std::optional<Instant> terminatedAt_;
  bool stopped_{false};
  bool killed_{false};
  bool over_{false};
  pid_t toldStays_{0};
  std::optional<ExitStatus> status_;
};

}  // namespace tenure::cli
