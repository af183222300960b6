// Processes by descriptor: helpers for pidfds, process groups and exit statuses.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <sys/types.h>

#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::cli {

/// Throws std::system_error: `what` names the call and its purpose.
[[noreturn]] void throwErrno(const std::string& what);

/// fork(2). Throws std::system_error. Its text says `what` the child is for, and names the limit if one is reached.
[[nodiscard]] pid_t forkFor(const std::string& what);

/// The meaning of a system call's error where the error's own text does not say it: the limit behind EAGAIN or EMFILE.
/// Empty: there is none.
[[nodiscard]] std::string limitBehind(int error);

/// Throws std::system_error if this process's own limit leaves fewer descriptors than that. `any` is an open
/// descriptor. Code that needs them later would take the shortage for an error that passes.
void requireFreeDescriptors(int any, std::size_t count);

/// Throws std::system_error if a filter of system calls (seccomp) refuses waitid(2), whose answer is the proof that a
/// job is over.
void requireWaitid();

/// A close-on-exec descriptor that becomes readable when the process ends. Throws std::system_error.
[[nodiscard]] UniqueFd openPidfd(pid_t process);
/// The same; empty if there is no such process (any more).
[[nodiscard]] UniqueFd tryOpenPidfd(pid_t process) noexcept;

/// Closes the descriptors from `first` on, except for those in `kept` (any order, which changes; -1: none).
void closeAllFrom(int first, std::span<int> kept) noexcept;

/// Asks for what this process needs on a busy machine: a real-time class, or else the highest priority. These are only
/// requests, because they need a privilege or a limit. Its children do not inherit the class.
void hurryUp() noexcept;
/// Gives the class back until hurryUp.
void leaveRealTime() noexcept;

/// False: the process has been reaped, or may not be signalled.
bool signalProcess(int pidfd, int signal) noexcept;

/// True once the process behind the descriptor has ended, reaped or not.
[[nodiscard]] bool hasEnded(int pidfd) noexcept;

/// A process group, named in such a way that a signal never hits another group to which the kernel gave the number
/// later.
struct ProcessGroup {
  int leaderPidfd{-1};
  pid_t id{0};
};

/// Sends `signal` to every process of the group (0: only asks). False: the group is empty, or cannot be distinguished
/// any more from another group with its number.
bool signalGroup(const ProcessGroup& group, int signal) noexcept;

/// "signal 15 (Terminated)".
[[nodiscard]] std::string signalText(int signal);

/// How a process ended.
struct ExitStatus {
  bool bySignal{false};
  int value{0};  ///< exit code or signal number

  /// As a shell reports it: the exit code, or 128 + the signal.
  [[nodiscard]] int shellCode() const noexcept { return bySignal ? 128 + value : value; }
  /// "ended with exit code 3", "was ended by signal 9 (Killed)".
  [[nodiscard]] std::string text() const;
};

}  // namespace tenure::cli
