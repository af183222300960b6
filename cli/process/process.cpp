#include "process.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "adopted.hpp"
#include "lockcore/runtime/system_error.hpp"

namespace tenure::cli {
namespace {

/// Since Linux 6.9; not in the headers of older systems.
constexpr unsigned pidfdSignalProcessGroup = 1U << 2;

// By system call: glibc 2.36 declares pidfd_open and pidfd_send_signal without C linkage, so C++ cannot link them.
long sendByPidfd(int pidfd, int signal, unsigned flags) noexcept {
  return syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, flags);
}

}  // namespace

void throwErrno(const std::string& what) { throw errnoException(errno, what); }

std::string limitBehind(int error) {
  rlimit memory{};
  const bool bounded = getrlimit(RLIMIT_AS, &memory) == 0 && memory.rlim_cur != RLIM_INFINITY;
  if (bounded && (error == EAGAIN || error == ENOMEM)) {
    return "the limit of address space (ulimit -v) is " + std::to_string(memory.rlim_cur >> 20U) +
           " MiB, which leaves no room for another thread or process; raise it";
  }
  if (error == EAGAIN) return "no further process or thread is allowed here (ulimit -u, pids.max of the cgroup)";
  return error == EMFILE ? "raise the limit of open files (ulimit -n, LimitNOFILE of the service)" : "";
}

void requireFreeDescriptors(int any, std::size_t count) {
  std::vector<UniqueFd> taken;
  while (taken.size() < count) {
    taken.emplace_back(fcntl(any, F_DUPFD_CLOEXEC, 0));
    if (taken.back()) continue;
    if (errno != EMFILE) return;  // a shortage of the whole system may pass
    throw errnoException(EMFILE, "the store and the job need " + std::to_string(count) + " more open files, and " +
                                     std::to_string(taken.size() - 1) + " are left");
  }
}

void requireWaitid() {
  siginfo_t change{};
  if (waitid(P_ALL, 0, &change, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 || errno == ECHILD) return;
  throwErrno(
      "waitid, which shows the end of a job, is refused here; let the filter of system calls (seccomp) allow it");
}

pid_t forkFor(const std::string& what) {
  const pid_t child = fork();
  if (child < 0) {
    const std::string limit = limitBehind(errno);
    throwErrno("starting " + what + (limit.empty() ? "" : ": " + limit));
  }
  if (child > 0) noteOwnChild(child);
  return child;
}

UniqueFd openPidfd(pid_t process) {
  UniqueFd fd = tryOpenPidfd(process);
  if (!fd) throwErrno("pidfd_open (Linux 5.4 or newer is needed)");
  return fd;
}

UniqueFd tryOpenPidfd(pid_t process) noexcept {
  return UniqueFd{static_cast<int>(syscall(SYS_pidfd_open, process, 0U))};
}

void closeAllFrom(int first, std::span<int> kept) noexcept {
  std::sort(kept.begin(), kept.end());
  for (const int fd : kept) {
    if (fd < first) continue;
    if (fd > first) close_range(static_cast<unsigned>(first), static_cast<unsigned>(fd) - 1, 0);
    first = fd + 1;
  }
  close_range(static_cast<unsigned>(first), ~0U, 0);
}

void hurryUp() noexcept {
  const sched_param lowest{1};
  sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest);
  setpriority(PRIO_PROCESS, 0, -20);
}

void leaveRealTime() noexcept {
  const sched_param none{};
  sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
}

bool signalProcess(int pidfd, int signal) noexcept { return sendByPidfd(pidfd, signal, 0) == 0; }

bool hasEnded(int pidfd) noexcept {
  pollfd entry{pidfd, POLLIN, 0};
  return poll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) != 0;
}

bool signalGroup(const ProcessGroup& group, int signal) noexcept {
  if (group.leaderPidfd < 0 || group.id <= 1) return false;
  if (sendByPidfd(group.leaderPidfd, signal, pidfdSignalProcessGroup) == 0) return true;
  if (errno != EINVAL) return false;
  // An older kernel knows groups only by number, and the leader's number is its own until it is reaped.
  return !hasEnded(group.leaderPidfd) && kill(-group.id, signal) == 0;
}

std::string signalText(int signal) {
  const char* name = sigdescr_np(signal);
  return "signal " + std::to_string(signal) + " (" + (name != nullptr ? name : "unknown") + ")";
}

std::string ExitStatus::text() const {
  if (!bySignal) return "ended with exit code " + std::to_string(value);
  return "was ended by " + signalText(value);
}

}  // namespace tenure::cli
