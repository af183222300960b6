// The command that runs while this copy leads: a child process that waits at a barrier until its guard knows it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "lockcore/runtime/unique_fd.hpp"
#include "process.hpp"
#include "signals.hpp"

namespace tenure::cli {

struct JobSpec {
  std::vector<std::string> command;                ///< not empty; a name without a slash is looked up in PATH
  std::map<std::string, std::string> environment;  ///< added to this process's own, replacing equal names
  std::vector<int> inherited;                      ///< descriptors that lose close-on-exec, in the job only
  int livenessFile{-1};  ///< one more: of the liveness file; the guard holds it as well; -1: none
};

/// The job leads a process group of its own. After the fork it waits at a barrier, and executes the command only when
/// the barrier is opened. If this process dies meanwhile, the child just exits. So no job ever runs that the guard does
/// not know.
///
/// The kernel sends it SIGTERM when the *thread* that called `start` ends (PR_SET_PDEATHSIG), so start jobs only from
/// the main thread. The leader is reaped last, when the object is destroyed: until then its group's number is not
/// reused.
class Job {
 public:
  /// Throws std::system_error if no process can be started.
  [[nodiscard]] static Job start(const JobSpec& spec, const SignalState& signals);

  Job(Job&&) noexcept = default;
  Job& operator=(Job&&) = delete;
  /// Kills what is left of the group and reaps the leader.
  ~Job();

  [[nodiscard]] pid_t id() const noexcept { return id_; }
  /// Readable when the leader has ended.
  [[nodiscard]] int pidfd() const noexcept { return pidfd_.get(); }
  [[nodiscard]] ProcessGroup group() const noexcept { return {pidfd_.get(), id_}; }
  /// How the leader ended; empty while it runs.
  [[nodiscard]] std::optional<ExitStatus> status() const noexcept;

  /// The signal that has stopped the leader since the last call, if any has.
  [[nodiscard]] std::optional<int> takeStop() const noexcept;

  void openBarrier() noexcept;
  /// Readable when the command was executed, or when that failed; -1 afterwards.
  [[nodiscard]] int execDescriptor() const noexcept { return barrier_.get(); }
  /// To be called when it is readable. Zero: the command runs; else the errno of exec.
  [[nodiscard]] int takeExecResult() noexcept;

 private:
  Job(pid_t id, UniqueFd pidfd, UniqueFd barrier) noexcept;

  pid_t id_{-1};
  UniqueFd pidfd_;
  UniqueFd barrier_;
};

}  // namespace tenure::cli
