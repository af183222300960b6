// The command that runs while this copy leads: a process that waits at a barrier until the guard knows it, and a reaper
// that collects what the command starts.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "cli/process/job_cgroup.hpp"
#include "cli/process/process.hpp"
#include "cli/process/signals.hpp"
#include "lockcore/runtime/unique_fd.hpp"
#include "reaper.hpp"

namespace tenure::cli {

struct JobSpec {
  std::vector<std::string> command;                ///< not empty; a name without a slash is looked up in PATH
  std::map<std::string, std::string> environment;  ///< added to this process's own, replacing equal names
  std::vector<int> inherited;                      ///< descriptors that lose close-on-exec, in the job only
  int livenessFile{-1};  ///< one more: of the liveness file; reaper and guard hold it as well; -1: none
  /// In place of a command: the first word is a file, which is written and synced. The exit code is the errno.
  bool writes{false};
};

/// The term under which a job works, for its reaper (ReaperTask); the channel outlives the job.
struct JobTerm {
  GuardChannel* channel{nullptr};
  bool isJob{false};
  std::chrono::nanoseconds orphanGrace{0};  ///< without a channel: as ReaperTask has it
};

/// The job leads a process group of its own. After the fork it waits at a barrier, and executes the command only when
/// the barrier is opened. If this process dies meanwhile, the child just exits. So no job ever runs that the guard does
/// not know.
///
/// Its parent is its reaper, a child of this process. If somebody kills the reaper, the kernel sends SIGTERM to the job
/// (PR_SET_PDEATHSIG) and gives the job and its orphans to this process, which then collects them in the reaper's
/// place. The kernel tells the reaper that the *thread* that called `start` has ended, so start jobs only from the main
/// thread.
class Job {
 public:
  /// Throws std::system_error if no process can be started.
  [[nodiscard]] static Job start(const JobSpec& spec, const SignalState& signals, const JobTerm& term = {});

  Job(Job&&) noexcept = default;
  Job& operator=(Job&&) = delete;
  /// Kills what is left, and waits until that is gone, for a moment at most: a process of another user may stay.
  ~Job();

  /// Of the job's first process, the group's leader.
  [[nodiscard]] pid_t id() const noexcept { return id_; }
  /// Readable when the leader has ended.
  [[nodiscard]] int pidfd() const noexcept { return pidfd_.get(); }
  [[nodiscard]] ProcessGroup group() const noexcept { return {pidfd_.get(), id_}; }
  [[nodiscard]] pid_t reaperId() const noexcept { return reaper_; }
  [[nodiscard]] int reaperPidfd() const noexcept { return reaperFd_.get(); }
  [[nodiscard]] int cgroup() const noexcept { return cgroup_.descriptor(); }

  /// Readable when `look` has something to see; -1 once there is no reaper.
  [[nodiscard]] int news() const noexcept { return isReaped() ? news_.get() : -1; }
  /// To be called in each turn of a loop, and in short intervals while `isReaped` is false and `isOver` too.
  void look();

  /// How the leader ended; empty while it runs.
  [[nodiscard]] std::optional<ExitStatus> status() const noexcept;
  /// The signal that has stopped the leader since the last call, if any has.
  [[nodiscard]] std::optional<int> takeStop() noexcept;
  /// Nothing of the job is left: the kernel has said so.
  [[nodiscard]] bool isOver() const noexcept { return over_; }
  /// False: somebody has killed the reaper.
  [[nodiscard]] bool isReaped() const noexcept { return reaped_; }
  /// A process of the job that runs as another user, so that it cannot be killed; 0: none was met.
  [[nodiscard]] pid_t stays() const noexcept { return board_->stays; }

  /// SIGTERM to everything of the job, to each process once, and SIGCONT.
  void terminate();
  /// SIGKILL to everything of the job.
  void kill();

  void openBarrier() noexcept;
  /// Readable when the command was executed, or when that failed; -1 afterwards.
  [[nodiscard]] int execDescriptor() const noexcept { return barrier_.get(); }
  /// To be called when it is readable. Zero: the command runs; else the errno of exec.
  [[nodiscard]] int takeExecResult() noexcept;

 private:
  /// A page that this process shares with the reaper.
  class Board {
   public:
    Board();
    Board(Board&& other) noexcept;
    Board& operator=(Board&&) = delete;
    ~Board();
    ReaperBoard* operator->() const noexcept { return page_; }
    [[nodiscard]] ReaperBoard* get() const noexcept { return page_; }

   private:
    ReaperBoard* page_;
  };

  Job();
  void awaitLeader();
  void holdLeader();
  void wakeReaper() const noexcept;
  void signalAdopted(int signal);
  void collectAdopted();

  Board board_{};
  GuardChannel* term_{nullptr};
  UniqueFd news_;
  JobCgroup cgroup_;
  pid_t reaper_{-1};
  UniqueFd reaperFd_;
  pid_t id_{-1};
  UniqueFd pidfd_;
  UniqueFd barrier_;
  std::uint32_t stopsTaken_{0};
  bool reaped_{true};
  bool over_{false};
  std::vector<pid_t> told_{};  ///< without a reaper: who got SIGTERM
};

}  // namespace tenure::cli
