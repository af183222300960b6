// The reaper: the parent of a job, to which the kernel gives each descendant of the job whose own parent has ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <sys/types.h>

#include "cli/process/job_cgroup.hpp"
#include "cli/process/process.hpp"
#include "guard_channel.hpp"

namespace tenure::cli {

[[nodiscard]] constexpr std::int64_t encoded(const ExitStatus& status) noexcept {
  return status.value + (status.bySignal ? 256 : 0);
}
[[nodiscard]] constexpr ExitStatus decoded(std::int64_t status) noexcept {
  return {status >= 256, static_cast<int>(status % 256)};
}

/// What a reaper tells the process that started it, in memory that both share.
struct ReaperBoard {
  std::atomic<pid_t> leader{0};         ///< the job's first process; negative: it could not be started (an errno)
  std::atomic<std::int64_t> ended{-1};  ///< how that ended, as `encoded`; negative: it has not
  std::atomic<std::uint32_t> stops{0};  ///< how often it was stopped,
  std::atomic<int> stopSignal{0};       ///< and by which signal the last time
  std::atomic<pid_t> stays{0};          ///< a process of the job that may not be killed: it runs as another user
  std::atomic<bool> over{false};        ///< the kernel has said that there is no descendant
  std::atomic<bool> counted{false};     ///< by the term, as a reaper that has not had that word
};

/// The term counts it, which a crash notice waits for (GuardChannel::reapersLeft). Once it has ended, or whoever acts
/// for it after its death knows that nothing is left, it is counted no longer. Null: it has no term.
void countReaper(ReaperBoard& board, GuardChannel* term) noexcept;
void uncountReaper(ReaperBoard& board, GuardChannel* term) noexcept;

struct ReaperTask {
  ReaperBoard* board{nullptr};
  int news{-1};          ///< an eventfd; written to after each change of the board
  int livenessFile{-1};  ///< held until nothing is left; -1: none
  const JobCgroup* cgroup{nullptr};
  GuardChannel* term{nullptr};  ///< the term under which the job works; null: no deadline ends it
  bool isJob{false};            ///< it is the job that the guard watches: the end is noted in `term` too
  /// Without a term, and when the supervisor has crashed: between SIGTERM and SIGKILL.
  std::chrono::nanoseconds orphanGrace{0};
};

/// Commands, which are signals. The job's SIGTERM comes once however often it is commanded.
[[nodiscard]] int terminateCommand() noexcept;
[[nodiscard]] int killCommand() noexcept;
/// Sends one to a reaper, also to one that was stopped. False: it has ended.
bool commandReaper(int pidfd, int command) noexcept;

/// Prepares a process that was just forked, before it forks the job: it becomes the "subreaper" of prctl(2). Ends the
/// process if its parent has ended already.
void becomeReaper(pid_t parent) noexcept;

/// Collects what descends from this process until waitid(2) says that there is nothing (ECHILD). That is the kernel's
/// word that the job is over: whatever a process of the job does, it has an ancestor among the children of this
/// process, because an orphan becomes one. Where the job has a cgroup, that must be empty too.
///
/// - Told to terminate: SIGTERM and SIGCONT to the job's group, and to each other descendant once.
/// - Told to kill: SIGKILL to all, again until nothing is left.
/// - The process that started it ended: as told to terminate; SIGKILL when the drain timeout is over, for a
///   hook without a term its time limit.
/// - The validity of the lease is over: SIGKILL, whoever else is there.
///
/// For a process that was forked from one with threads and executes nothing: it allocates nothing and takes no lock. It
/// cannot be the guard: it is the job's parent, so it must be forked from the supervisor for the job to inherit
/// everything, and a guard that died is replaced while the job goes on.
[[noreturn]] void reap(const ReaperTask& task, pid_t leader) noexcept;

}  // namespace tenure::cli
