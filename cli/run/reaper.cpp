#include "reaper.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <tenure/lockcore/clock.hpp>

#include "cli/process/children.hpp"
#include "cli/process/process.hpp"
#include "job_deadline.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// After SIGKILL: a process may be given to this one without a signal, when its parent has ended further down.
constexpr nanoseconds lookAgainAfter = milliseconds{5};
constexpr nanoseconds lookAgainAtMost = std::chrono::seconds{1};

/// After as many SIGKILLs a process is taken for one that its cgroup cannot end either.
constexpr int killsOfTheCgroup = 10;

/// Real-time signals, because nobody sends these to a process by its name.
int parentEnded() noexcept { return SIGRTMIN + 6; }

/// The processes that were told to stop. A process that does not fit in may be told twice.
class Told {
 public:
  /// False: it is one of them already.
  bool add(pid_t process) noexcept {
    const auto end = processes_.begin() + count_;
    if (std::find(processes_.begin(), end, process) != end) return false;
    if (count_ < static_cast<std::ptrdiff_t>(processes_.size()))
      processes_[static_cast<std::size_t>(count_++)] = process;
    return true;
  }
  /// Its number may be given to another process.
  void remove(pid_t process) noexcept {
    const auto end = processes_.begin() + count_;
    const auto at = std::find(processes_.begin(), end, process);
    if (at == end) return;
    *at = *(end - 1);
    --count_;
  }

 private:
  std::array<pid_t, 2048> processes_{};
  std::ptrdiff_t count_{0};
};

class Reaper {
 public:
  Reaper(const ReaperTask& task, pid_t leader) noexcept
      : task_{task}, self_{getpid()}, leader_{leader}, leaderFd_{tryOpenPidfd(leader)} {}

  [[noreturn]] void run() noexcept;

 private:
  [[nodiscard]] bool collect() noexcept;
  [[nodiscard]] bool isCgroupEmpty() const noexcept;
  void take(const siginfo_t& change) noexcept;
  void act() noexcept;
  void claimTermination() const noexcept;
  void wait() noexcept;
  void terminate() noexcept;
  void kill() noexcept;
  void killAll() noexcept;
  void tell(pid_t process, pid_t parent) noexcept;
  [[nodiscard]] bool send(pid_t process, pid_t parent, int signal) const noexcept;
  [[nodiscard]] std::optional<nanoseconds> untilDeadline() const noexcept;
  void news() const noexcept;
  [[noreturn]] void end() noexcept;

  const ReaperTask task_;
  const pid_t self_;
  const pid_t leader_;
  const UniqueFd leaderFd_;
  bool hasNews_{false};
  bool parentEnded_{false};
  std::optional<Instant> terminatedAt_{};
  bool groupIsTold_{false};
  bool killing_{false};
  int kills_{0};
  bool othersLeft_{false};
  nanoseconds lookAgain_{lookAgainAfter};
  Told told_{};
};

void Reaper::run() noexcept {
  task_.board->leader = leader_;  // only now, because the job begins after that
  news();
  for (;;) {
    if (!collect()) end();
    act();
    wait();
  }
}

/// False: there is no descendant, and nothing in the cgroup.
bool Reaper::collect() noexcept {
  for (;;) {
    siginfo_t change{};
    othersLeft_ = waitid(P_ALL, 0, &change, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) != 0;
    if (othersLeft_ && errno == EINTR) continue;
    if (othersLeft_ && errno != ECHILD) return true;  // it proves nothing, so the job is not over
    if (othersLeft_ && isCgroupEmpty()) return false;
    if (change.si_pid == 0) {
      if (std::exchange(hasNews_, false)) news();
      return true;
    }
    take(change);
  }
}

/// The last process leaves it a moment after it could be collected. Otherwise one was put there from outside.
bool Reaper::isCgroupEmpty() const noexcept {
  for (int looks = 0; looks < 5; ++looks) {
    if (!task_.cgroup->isPopulated()) return true;
    poll(nullptr, 0, 1);
  }
  return false;
}

/// What is told of the leader is told before it is gone: if this process is killed in between, the leader falls to the
/// supervisor, which then looks for itself.
///
/// The kernel forgets what /proc knew of the process. It busy-waits there for a thread of the process that does the
/// same at the end of its life. A real-time process that has displaced this thread would wait until the class's limit
/// (0.95 s of a second) stops it.
void Reaper::take(const siginfo_t& change) noexcept {
  const bool stopped = change.si_code == CLD_STOPPED;
  if (change.si_pid == leader_) {
    if (stopped) {
      task_.board->stopSignal = change.si_status;
      ++task_.board->stops;
    } else {
      task_.board->ended = encoded({change.si_code != CLD_EXITED, change.si_status});
    }
    hasNews_ = true;  // told later, and not at all if nothing of the job is left: then there is greater news
  }
  if (!stopped) {
    told_.remove(change.si_pid);
    lookAgain_ = lookAgainAfter;
  }
  siginfo_t gone{};
  leaveRealTime();
  waitid(P_PID, static_cast<id_t>(change.si_pid), &gone, (stopped ? WSTOPPED : WEXITED) | WNOHANG | __WALL);
  hurryUp();
}

void Reaper::act() noexcept {
  if (const auto left = untilDeadline(); left && left->count() <= 0 && !killing_) {
    claimTermination();
    kill();
  }
  if (killing_) return killAll();
  if (!terminatedAt_) return;
  eachChild([this](pid_t process) { tell(process, self_); });
}

/// Supervisor and guard judge this too, but both may be stopped, and a supervisor that is stopped replaces no guard.
std::optional<nanoseconds> Reaper::untilDeadline() const noexcept {
  if (task_.term == nullptr) {
    if (!parentEnded_ || !terminatedAt_) return std::nullopt;
    return task_.orphanGrace - elapsedForHolder(*terminatedAt_, readClock());
  }
  return untilKill(readClock(), task_.term->term(), parentEnded_ ? terminatedAt_ : std::nullopt,
                   task_.term->drainTimeout());
}

/// So that the supervisor does not take this for an end of the job by itself. A hook's end says nothing about the job.
void Reaper::claimTermination() const noexcept {
  if (task_.isJob && task_.term != nullptr) static_cast<void>(task_.term->claimTermination());
}

void Reaper::wait() noexcept {
  sigset_t signals{};
  sigemptyset(&signals);
  for (const int signal : {SIGCHLD, terminateCommand(), killCommand(), parentEnded()}) sigaddset(&signals, signal);
  std::optional<nanoseconds> left = untilDeadline();
  if (killing_ || othersLeft_) {  // no signal tells of the end of a process that is no child
    left = killing_ ? lookAgain_ : std::min(lookAgain_, left.value_or(lookAgain_));
    lookAgain_ = std::min(lookAgain_ * 2, lookAgainAtMost);
  }
  const nanoseconds most =
      std::clamp<nanoseconds>(left.value_or(std::chrono::hours{1}), nanoseconds{0}, std::chrono::hours{1});
  const timespec bound{most / std::chrono::seconds{1}, (most % std::chrono::seconds{1}).count()};
  const int signal = sigtimedwait(&signals, nullptr, &bound);
  if (signal == parentEnded()) {
    parentEnded_ = true;
    claimTermination();
    if (untilDeadline().value_or(nanoseconds{1}).count() > 0) terminate();
  } else if (signal == terminateCommand()) {
    terminate();
  } else if (signal == killCommand()) {
    kill();
  }
}

void Reaper::terminate() noexcept {
  if (terminatedAt_ || killing_) return;
  terminatedAt_ = readClock();
  const ProcessGroup group{leaderFd_.get(), leader_};
  groupIsTold_ = signalGroup(group, SIGTERM);
  signalGroup(group, SIGCONT);
  eachDescendant(self_, [this](pid_t process, pid_t parent) { tell(process, parent); });
}

void Reaper::tell(pid_t process, pid_t parent) noexcept {
  if (groupIsTold_ && getpgid(process) == leader_) return;
  if (told_.add(process) && send(process, parent, SIGTERM)) static_cast<void>(send(process, parent, SIGCONT));
}

void Reaper::kill() noexcept {
  killing_ = true;
  if (task_.isJob && task_.term != nullptr) task_.term->noteKill();
  lookAgain_ = lookAgainAfter;
  signalGroup({leaderFd_.get(), leader_}, SIGKILL);
  eachDescendant(self_, [this](pid_t process, pid_t parent) { static_cast<void>(send(process, parent, SIGKILL)); });
}

void Reaper::killAll() noexcept {
  eachChild([this](pid_t process) {
    if (send(process, self_, SIGKILL) || errno != EPERM || hasEndedAsChild(process)) return;
    if (task_.cgroup->isPopulated() && kills_ < killsOfTheCgroup) return;
    if (task_.board->stays.exchange(process) != process) news();
  });
  ++kills_;
  task_.cgroup->kill();  // the last, because it may wait
}

/// The number of a child is its own until this process has waited for it.
bool Reaper::send(pid_t process, pid_t parent, int signal) const noexcept {
  return parent == self_ ? ::kill(process, signal) == 0 : signalDescendant(process, parent, self_, signal);
}

void Reaper::news() const noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(task_.news, &one, sizeof one);
}

void Reaper::end() noexcept {
  if (task_.livenessFile >= 0) close(task_.livenessFile);
  if (task_.isJob && task_.term != nullptr) task_.term->noteJobOver();
  uncountReaper(*task_.board, task_.term);
  task_.board->over = true;
  news();
  _exit(0);
}

}  // namespace

/// A reaper that is killed in between stays counted, which only costs the notice.
void countReaper(ReaperBoard& board, GuardChannel* term) noexcept {
  if (term == nullptr) return;
  term->reaperBegins();
  board.counted = true;
}

void uncountReaper(ReaperBoard& board, GuardChannel* term) noexcept {
  if (term != nullptr && board.counted.exchange(false)) term->reaperEnds();
}

int terminateCommand() noexcept { return SIGRTMIN + 4; }
int killCommand() noexcept { return SIGRTMIN + 5; }

bool commandReaper(int pidfd, int command) noexcept {
  if (hasEnded(pidfd) || !signalProcess(pidfd, command)) return false;
  return signalProcess(pidfd, SIGCONT);
}

void becomeReaper(pid_t parent) noexcept {
  sigset_t all{};
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  setpgid(0, 0);  // so that a signal to the supervisor's group does not hit it
  prctl(PR_SET_PDEATHSIG, parentEnded());
  if (getppid() != parent) _exit(0);  // the parent died before the kernel knew about the death signal
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void reap(const ReaperTask& task, pid_t leader) noexcept {
  prctl(PR_SET_NAME, "tenure-reaper");
  std::array<int, 3> kept{task.news, task.livenessFile, task.cgroup->descriptor()};
  closeAllFrom(0, kept);  // in a process that executes nothing no descriptor closes by itself
  hurryUp();
  Reaper{task, leader}.run();
}

}  // namespace tenure::cli
