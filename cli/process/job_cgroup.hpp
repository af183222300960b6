// A cgroup of one job's own: the kernel ends all of it at once, and says when it is empty.
#pragma once

#include <string>
#include <sys/types.h>
#include <utility>

#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::cli {

/// In addition to the reaper (reaper.hpp), where this process may make a cgroup: `cgroup.kill` ends what runs as
/// another user, and what /proc does not show when supervisor and reaper are gone.
///
/// It proves nothing alone, because a process may be moved out of it (a container's runtime does that). So it only adds
/// to what is killed and to what is waited for, and where there is none, or the kernel refuses something, all is as
/// without it.
class JobCgroup {
 public:
  /// None.
  JobCgroup() = default;
  explicit JobCgroup(UniqueFd directory) noexcept : directory_{std::move(directory)} {}
  JobCgroup(JobCgroup&&) noexcept = default;
  JobCgroup& operator=(JobCgroup&&) = delete;
  /// Removes it if it is empty.
  ~JobCgroup();

  /// A new one below the cgroup of this process, if that was delegated: systemd says so in an extended attribute of the
  /// directory, and the root of a cgroup namespace belongs to what runs in it. Removes those that a killed supervisor
  /// has left behind. None: `whyNot` says why. Linux 5.14 or later.
  [[nodiscard]] static JobCgroup make(std::string& whyNot);

  /// An open directory, locked by flock(2) as long as any process has it; -1: none.
  [[nodiscard]] int descriptor() const noexcept { return directory_.get(); }

  /// Unique on this machine, and a part of the path that /proc shows for its processes; empty: none.
  [[nodiscard]] std::string name() const;

  // Async-signal-safe from here on.

  /// fork(2) with the child in the cgroup, if there is one and the kernel lets the child in.
  [[nodiscard]] pid_t forkInto() const noexcept;
  /// Moves this process there. Zero, or why not (an errno).
  [[nodiscard]] int enter() const noexcept;
  /// SIGKILL to all of it, also to what is just being forked. It may wait for the kernel's lock on all cgroups. The
  /// kernel (6.18) loses the signal to a process whose first thread has ended.
  void kill() const noexcept;
  /// False: it is empty, or none. The kernel may say it a moment after the end of the last process.
  [[nodiscard]] bool isPopulated() const noexcept;

 private:
  UniqueFd directory_;
};

/// Tries it. Empty: jobs of this process get a cgroup.
[[nodiscard]] std::string whyNoJobCgroup();

}  // namespace tenure::cli
