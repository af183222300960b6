// The children of this process that it has not started itself: orphans that the kernel has given to it.
#pragma once

#include <sys/types.h>
#include <vector>

namespace tenure::cli {

// Only for the main thread of a process that is a "subreaper" (prctl(2)). The kernel gives orphans to that thread, and
// children that other threads have started (a credential process) are none of it.

/// Those that run and zombies. The list is whole (children.hpp): if it is empty, no orphan has any descendant.
[[nodiscard]] std::vector<pid_t> adoptedChildren();

/// Waits for those that have ended, except for `kept`.
void reapAdopted(pid_t kept = 0);

/// What forkFor has started (process.hpp) is no adopted child until it is left to reapAdopted. One that stayed here
/// after its end would hide the adopted child that gets its number next.
[[nodiscard]] std::vector<pid_t>& ownChildren();
void noteOwnChild(pid_t child);
void leaveToReapAdopted(pid_t child) noexcept;
/// Waits for the end of a child of forkFor, and returns its status as waitpid(2) does.
int reapOwnChild(pid_t child) noexcept;

}  // namespace tenure::cli
