#include "job.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <utility>

#include "exec_image.hpp"
#include "exit_codes.hpp"

namespace tenure::cli {
namespace {

constexpr char goAhead = 'g';

/// All of it is async-signal-safe, because this is the child of a threaded process.
[[noreturn]] void becomeJob(ExecImage& image, const JobSpec& spec, const SignalState& signals, int barrier,
                            pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(0);  // the parent died before the kernel knew about the death signal
  signals.restore();
  char go = 0;
  if (read(barrier, &go, 1) != 1 || go != goAhead) _exit(0);
  for (const int fd : spec.inherited) fcntl(fd, F_SETFD, 0);
  if (spec.livenessFile >= 0) fcntl(spec.livenessFile, F_SETFD, 0);
  const int error = image.execute();
  [[maybe_unused]] const ssize_t sent = write(barrier, &error, sizeof error);
  _exit(error == ENOENT ? exitNotFound : exitNotExecutable);
}

}  // namespace

Job Job::start(const JobSpec& spec, const SignalState& signals) {
  ExecImage image{spec.command, spec.environment};
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throwErrno("socketpair for the job");
  UniqueFd ours{ends[0]};
  UniqueFd theirs{ends[1]};
  const pid_t parent = getpid();
  const pid_t child = forkFor("the job's process");
  if (child == 0) {
    ours.reset();  // otherwise this process's death would not end the wait at the barrier
    becomeJob(image, spec, signals, theirs.get(), parent);
  }
  setpgid(child, child);  // the child does it too: whichever is first, the group exists from then on
  try {
    return Job{child, openPidfd(child), std::move(ours)};
  } catch (...) {
    ::kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    throw;
  }
}

Job::Job(pid_t id, UniqueFd pidfd, UniqueFd barrier) noexcept
    : id_{id}, pidfd_{std::move(pidfd)}, barrier_{std::move(barrier)} {}

Job::~Job() {
  if (!pidfd_) return;  // moved from
  signalGroup(group(), SIGKILL);
  while (waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::optional<ExitStatus> Job::status() const noexcept {
  siginfo_t info{};
  // WNOWAIT: it stays a zombie, so that the group's number is not reused until everything of the group is gone.
  if (waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
    return std::nullopt;
  }
  return ExitStatus{info.si_code != CLD_EXITED, info.si_status};
}

std::optional<int> Job::takeStop() const noexcept {
  siginfo_t info{};
  if (waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WSTOPPED | WNOHANG) != 0 || info.si_pid == 0) {
    return std::nullopt;
  }
  return info.si_status;
}

void Job::openBarrier() noexcept {
  [[maybe_unused]] const ssize_t sent = send(barrier_.get(), &goAhead, 1, MSG_NOSIGNAL);
}

int Job::takeExecResult() noexcept {
  int error = 0;
  const ssize_t got = read(barrier_.get(), &error, sizeof error);
  barrier_.reset();
  return got == static_cast<ssize_t>(sizeof error) ? error : 0;
}

}  // namespace tenure::cli
