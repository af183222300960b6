// Everything that belongs to a job: its process group, and descendants that left the group.
#pragma once

#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "lockcore/runtime/unique_fd.hpp"
#include "process.hpp"
#include "process_table.hpp"

namespace tenure::cli {

/// The environment variable that marks a job's descendants. It holds the identities of the jobs that a process runs
/// under, the outermost first, separated by colons.
inline constexpr const char* jobVariable = "TENURE_JOB";

/// Finds the live processes of a job by reading /proc: processes in the job's process group or cgroup, and processes
/// whose environment contains the job's identity (a daemon that called setsid, a shell's own job control). Each is held
/// by a pidfd, so that no signal can hit another process that got the number later. It cannot find a process that left
/// the group and also cleared its environment, or that runs as another user.
class JobProcesses {
 public:
  /// `identity`: 32 hex digits, unique per job. `cgroup`: its name (JobCgroup); empty: none. Throws std::system_error.
  JobProcesses(ProcessGroup group, std::string identity, std::string cgroup = {});

  /// Asked after each process that a search looks at; true ends the search early.
  using Hurry = std::function<bool()>;

  [[nodiscard]] const ProcessGroup& group() const noexcept { return group_; }

  /// Looks again, and returns how many processes were not known before. Processes that have ended (also zombies) are
  /// left out, and so is the group's leader if it has ended. It takes some 10 us for each process of the machine.
  std::size_t refresh(const Hurry& hurry = {});
  /// Nothing of the job is left. False after a search that did not see all processes, which proves nothing.
  [[nodiscard]] bool empty() const noexcept { return searched_ && members_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
  /// Why the last look did not see all processes (an errno); 0: it did, or was ended early.
  [[nodiscard]] int lookError() const noexcept { return table_.error(); }

  /// Readable when a process that the last refresh found has ended; call refresh again then.
  [[nodiscard]] int descriptor() const noexcept { return endings_.get(); }

  /// Sends SIGTERM, and SIGCONT because stopped processes cannot act on it, to the whole group in one call and to each
  /// other process that is known. Then it looks for further ones and does the same with them.
  void terminate(const Hurry& hurry = {});

  /// Sends SIGKILL to all, again until a look finds no new process, so that forks do not escape.
  void kill();

 private:
  struct Member {
    pid_t id;
    bool inGroup;
    UniqueFd pidfd;
  };

  [[nodiscard]] bool belongs(pid_t process, bool& inGroup);
  bool add(pid_t process);

  ProcessGroup group_;
  std::string identity_;
  std::string cgroup_;
  UniqueFd endings_;
  std::vector<Member> members_;
  ProcessTable table_{};
  bool searched_{false};  ///< the last look saw all processes
  bool killing_{false};
};

}  // namespace tenure::cli
