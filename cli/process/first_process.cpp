#include "first_process.hpp"

#include <csignal>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

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

int waitFor(pid_t work, const sigset_t& signals) {
  for (;;) {
    siginfo_t info{};
    if (sigwaitinfo(&signals, &info) < 0) continue;
    if (info.si_signo == SIGCHLD) {
      if (const auto code = takeTheDead(work)) return *code;
    } else if (info.si_code != SI_KERNEL) {  // the work has got from the terminal what this process got from it
      kill(work, info.si_signo);
    }
  }
}

}  // namespace

std::optional<int> waitAsFirstProcess() {
  if (getpid() != 1) return std::nullopt;
  std::signal(SIGCHLD, SIG_DFL);
  const sigset_t signals = signalsToHandOn();
  sigset_t before{};
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  const pid_t work = forkFor("the work of process 1");
  if (work != 0) return waitFor(work, signals);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return std::nullopt;
}

}  // namespace tenure::cli
