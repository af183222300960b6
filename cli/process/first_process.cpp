#include "first_process.hpp"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tenure/lockcore/clock.hpp>

#include "process.hpp"

namespace tenure::cli {
namespace {

/// All but those that a fault of this process raises, and those by which a terminal stops who is in its background.
sigset_t signalsToHandOn() {
  sigset_t set{};
  sigfillset(&set);
  for (const int own : {SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGABRT, SIGTRAP, SIGSYS, SIGTTIN, SIGTTOU})
    sigdelset(&set, own);
  return set;
}

/// The exit code of the work if it is among those that have ended.
std::optional<int> takeTheDead(pid_t work) {
  std::optional<int> code;
  int status = 0;
  for (pid_t dead = 0; (dead = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (dead != work) continue;
    const bool bySignal = WIFSIGNALED(status);
    code = ExitStatus{bySignal, bySignal ? WTERMSIG(status) : WEXITSTATUS(status)}.shellCode();
  }
  return code;
}

UniqueFd& heldByTheWork() {
  static UniqueFd held;
  return held;
}

/// True: nobody has the other end any more.
bool isReleased(int pipe) {
  pollfd entry{pipe, 0, 0};
  return poll(&entry, 1, 0) == 1 && (entry.revents & (POLLHUP | POLLERR)) != 0;
}

/// What boundFirstProcess() has written.
std::chrono::nanoseconds boundIn(int pipe) {
  std::int64_t millis = 0;
  const bool written = read(pipe, &millis, sizeof millis) == sizeof millis;
  return std::chrono::milliseconds{written ? millis : 0};
}

/// The guard ends the job of a crashed supervisor and releases its term, for which it may need a whole lease. It may be
/// stopped, and nobody would wake it here.
void waitForRest(int pipe, const sigset_t& signals) {
  constexpr timespec lookAgain{0, 50'000'000};
  const Instant began = readClock();
  const std::chrono::nanoseconds most = boundIn(pipe);
  const auto mayWait = [&] { return !isReleased(pipe) && elapsedForHolder(began, readClock()) < most; };
  for (siginfo_t info{}; mayWait(); sigtimedwait(&signals, &info, &lookAgain)) {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}

int waitFor(pid_t work, int pipe, const sigset_t& signals) {
  for (;;) {
    siginfo_t info{};
    if (sigwaitinfo(&signals, &info) < 0) continue;
    if (info.si_signo == SIGCHLD) {
      const auto code = takeTheDead(work);
      if (!code) continue;
      waitForRest(pipe, signals);
      return *code;
    }
    // The work has got from the terminal what this process got from it, but for a hang-up, which only the leader of the
    // session is told of.
    if (info.si_code == SI_KERNEL && info.si_signo != SIGHUP) continue;
    kill(work, info.si_signo);
  }
}

}  // namespace

std::optional<int> waitAsFirstProcess() {
  if (getpid() != 1) return std::nullopt;
  std::signal(SIGCHLD, SIG_DFL);
  const sigset_t signals = signalsToHandOn();
  sigset_t before{};
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throwErrno("pipe2, for process 1");
  const UniqueFd ours{ends[0]};
  heldByTheWork().reset(ends[1]);
  const pid_t work = forkFor("the work of process 1");
  if (work != 0) heldByTheWork().reset();
  if (work != 0) return waitFor(work, ours.get(), signals);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return std::nullopt;
}

int firstProcessWaitsFor() noexcept { return heldByTheWork().get(); }

void boundFirstProcess(std::chrono::milliseconds most) noexcept {
  const std::int64_t millis = most.count();
  if (heldByTheWork()) [[maybe_unused]]
    const ssize_t written = write(heldByTheWork().get(), &millis, sizeof millis);
}

}  // namespace tenure::cli
