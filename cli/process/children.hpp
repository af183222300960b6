// The children of a thread, and what they have started, as the kernel lists them. Nothing here allocates memory or
// takes a lock, because it is called in a forked process too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::cli {

/// Whether the numbers in /proc are those that system calls take here. They are not if /proc belongs to another PID
/// namespace.
[[nodiscard]] bool procIsOurs() noexcept;

/// The number that system calls take for a process that a /proc of another PID namespace shows by the number `shown`.
/// 0: it does not show that.
[[nodiscard]] pid_t ownNumberOf(pid_t shown) noexcept;

/// The parent of a process, as /proc shows it; 0: there is no such process.
[[nodiscard]] pid_t parentOf(pid_t process) noexcept;

/// Signals what eachDescendant has found. It is looked at again once a descriptor holds it, because its number may have
/// been given to a stranger: its parent must be the same, or `ancestor`.
[[nodiscard]] bool signalDescendant(pid_t process, pid_t parent, pid_t ancestor, int signal) noexcept;

/// Whether the process is a child of the calling thread, running or a zombie.
[[nodiscard]] bool isChild(pid_t process) noexcept;
/// Whether it is a child that is a zombie.
[[nodiscard]] bool hasEndedAsChild(pid_t process) noexcept;

/// The highest number that a process can have.
[[nodiscard]] pid_t highestProcess() noexcept;

namespace detail {

/// The number at `text`, which moves behind it; 0: there is none.
inline pid_t takeNumber(const char*& text) noexcept {
  pid_t number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) number = number * 10 + (*text - '0');
  return number;
}

/// Calls `found` with each number in a file of /proc. False: it could not be read to its end.
template <class Found>
bool eachNumberIn(const char* path, Found&& found) noexcept {
  const UniqueFd file{open(path, O_RDONLY | O_CLOEXEC)};
  if (!file) return false;
  char chunk[1024];
  pid_t number = 0;
  for (;;) {
    const ssize_t got = read(file.get(), chunk, sizeof chunk);
    if (got < 0) return false;
    for (ssize_t i = 0; i < got; ++i) {
      if (chunk[i] >= '0' && chunk[i] <= '9') {
        number = number * 10 + (chunk[i] - '0');
      } else if (number != 0) {
        found(number);
        number = 0;
      }
    }
    if (got == 0) break;
  }
  if (number != 0) found(number);
  return true;
}

/// Calls `found` with each thread of a process. By system call: readdir(3) allocates.
template <class Found>
void eachThreadOf(pid_t process, Found&& found) noexcept {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/task", process);
  const UniqueFd directory{open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  alignas(dirent64) char chunk[1024];
  for (;;) {
    const long got = directory ? syscall(SYS_getdents64, directory.get(), chunk, sizeof chunk) : 0;
    if (got <= 0) return;
    for (long at = 0; at < got;) {
      const char* entry = chunk + at;
      std::uint16_t length = 0;
      std::memcpy(&length, entry + offsetof(dirent64, d_reclen), sizeof length);
      const char* name = entry + offsetof(dirent64, d_name);
      const pid_t thread = takeNumber(name);
      if (thread != 0) found(thread);
      at += length;
    }
  }
}

}  // namespace detail

/// Calls `found` with each child of the calling thread, running or a zombie. `found` must not wait for any of them: a
/// child leaves the list when it is waited for, and only then. So none that was there at the beginning is missed.
///
/// Where /proc does not show this process at all, it asks the kernel for each number whether that is a child.
template <class Found>
void eachChild(Found&& found) noexcept {
  const bool ours = procIsOurs();
  bool whole = true;
  const auto check = [&](pid_t shown) {
    const pid_t process = ours ? shown : ownNumberOf(shown);
    if (process == 0) whole = false;
    if (process != 0 && isChild(process)) found(process);
  };
  if (detail::eachNumberIn("/proc/thread-self/children", check) && whole) return;
  const pid_t highest = highestProcess();
  for (pid_t process = 1; process <= highest; ++process) {
    if (isChild(process)) found(process);
  }
}

/// Calls `found(process, parent)` with each process that descends from `ancestor` at this moment, as far as /proc shows
/// it. Processes that fork meanwhile may be missed.
template <class Found>
void eachDescendant(pid_t ancestor, Found&& found, int depth = 0) noexcept {
  constexpr int deepest = 64;
  if (depth == deepest || (depth == 0 && !procIsOurs())) return;
  detail::eachThreadOf(ancestor, [&](pid_t thread) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/task/%d/children", ancestor, thread);
    detail::eachNumberIn(path, [&](pid_t process) {
      found(process, ancestor);
      eachDescendant(process, found, depth + 1);
    });
  });
}

}  // namespace tenure::cli
