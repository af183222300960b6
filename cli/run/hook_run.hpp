// A hook of a group's file that runs beside the job, or after it.
#pragma once

#include <chrono>
#include <optional>
#include <poll.h>
#include <string>
#include <vector>

#include <tenure/config/group_config.hpp>
#include <tenure/lockcore/clock.hpp>

#include "cli/process/exec_image.hpp"
#include "job.hpp"
#include "term_work.hpp"

namespace tenure::cli {

/// The words that run a hook.
[[nodiscard]] std::vector<std::string> hookCommand(const std::string& command);

/// The first hook that can certainly not run: the shell cannot read it (exitUsage), or the program that its first word
/// names by a path is not there (exitNotFound) or cannot be executed (exitNotExecutable).
[[nodiscard]] std::optional<CommandFault> faultOfHooks(const HooksConfig& hooks);

/// How long a run may take, and the key that says so.
struct HookLimit {
  std::chrono::nanoseconds time;
  const char* key{"hooks.timeout"};
};

/// One run of a hook, in a process group of its own, without a guard. It never waits: `descriptors` and `untilWake` say
/// when to call `act`. When its first process has ended, or its time is over, SIGKILL ends what it has left. It is over
/// when nothing is.
/// Main thread only, as for every job.
class HookRun final : public HookProcess {
 public:
  /// Starts it. `name` is for messages: "hook on_renewed". `term` (null: none) is the term whose end it must not
  /// outlive, also if this process is frozen. Throws std::system_error if no process can be started.
  HookRun(std::string name, const JobSpec& spec, const HookLimit& limit, const SignalState& signals, const Instant& now,
          GuardChannel* term);

  [[nodiscard]] pollfd descriptor() const noexcept override { return {job_.news(), POLLIN, 0}; }
  [[nodiscard]] std::chrono::nanoseconds untilWake(const Instant& now) const override;
  void act(const Instant& now) override;
  void kill() noexcept override;
  [[nodiscard]] const std::optional<ExitStatus>& status() const noexcept override { return status_; }
  [[nodiscard]] bool isLate() const noexcept override { return timedOut_; }
  [[nodiscard]] pid_t stays() const noexcept override { return job_.stays(); }
  [[nodiscard]] std::string text() const override;

 private:
  std::string name_;
  std::string file_;  ///< that it writes in place of a command; empty: none
  HookLimit limit_;
  Job job_;
  Instant began_;
  bool timedOut_{false};
  int kills_{0};  ///< of it, or of what it has left
  std::optional<ExitStatus> status_{};
};

}  // namespace tenure::cli
