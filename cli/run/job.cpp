#include "job.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <new>
#include <poll.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <tenure/lockcore/clock.hpp>

#include "cli/process/adopted.hpp"
#include "cli/process/children.hpp"
#include "cli/process/exec_image.hpp"
#include "probe_file.hpp"

namespace tenure::cli {
namespace {

constexpr char goAhead = 'g';

/// How long the end of a killed job is waited for when its object is destroyed.
constexpr int mostMillisToDie = 2000;
constexpr int lookMillis = 20;

JobCgroup newCgroup() {
  std::string whyNot;  // the doctor tells it
  return JobCgroup::make(whyNot);
}

/// It holds no descriptor of the supervisor's: a process that the kernel keeps for a disk keeps its descriptors too,
/// and one of the liveness file would say that the term goes on.
[[noreturn]] void becomeWriter(const std::string& path) noexcept {
  prctl(PR_SET_NAME, "tenure-probe");
  closeAllFrom(0, {});
  _exit(writeProbeFile(path));
}

/// All of it is async-signal-safe, because this is the child of a child of a threaded process.
[[noreturn]] void becomeJob(ExecImage& image, const JobSpec& spec, const SignalState& signals, int barrier,
                            pid_t reaper) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != reaper) _exit(0);  // it died before the kernel knew about the death signal
  signals.restore();
  char go = 0;
  if (read(barrier, &go, 1) != 1 || go != goAhead) _exit(0);
  if (spec.writes) becomeWriter(spec.command.front());
  for (const int fd : spec.inherited) fcntl(fd, F_SETFD, 0);
  if (spec.livenessFile >= 0) fcntl(spec.livenessFile, F_SETFD, 0);
  const int error = image.execute();
  [[maybe_unused]] const ssize_t sent = write(barrier, &error, sizeof error);
  _exit(exitCodeOfExec(error));
}

/// The same holds here: it forks and executes nothing itself.
[[noreturn]] void becomeReaperOf(ExecImage& image, const JobSpec& spec, const SignalState& signals, int barrier,
                                 const ReaperTask& task, pid_t parent) {
  becomeReaper(parent);
  const pid_t self = getpid();
  countReaper(*task.board, task.term);
  const pid_t leader = task.cgroup->forkInto();
  if (leader == 0) becomeJob(image, spec, signals, barrier, self);
  if (leader > 0) setpgid(leader, leader);  // the job does it too: whichever is first, the group exists from then on
  if (leader > 0) reap(task, leader);
  task.board->leader = -errno;
  uncountReaper(*task.board, task.term);
  _exit(0);
}

}  // namespace

Job::Board::Board() : page_{nullptr} {
  void* page = mmap(nullptr, sizeof(ReaperBoard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throwErrno("memory shared with the job's reaper");
  page_ = new (page) ReaperBoard{};
}

Job::Board::Board(Board&& other) noexcept : page_{std::exchange(other.page_, nullptr)} {}

Job::Board::~Board() {
  if (page_ != nullptr) munmap(page_, sizeof(ReaperBoard));
}

Job::Job() : news_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}, cgroup_{newCgroup()} {
  if (!news_) throwErrno("eventfd for the job's reaper");
}

Job Job::start(const JobSpec& spec, const SignalState& signals, const JobTerm& term) {
  ExecImage image{spec.command, spec.environment};
  Job job;
  job.term_ = term.channel;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throwErrno("socketpair for the job");
  job.barrier_.reset(ends[0]);
  const UniqueFd theirs{ends[1]};
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // for a reaper that is killed
  const pid_t parent = getpid();
  const pid_t child = forkFor("the job's process");
  if (child == 0) {
    job.barrier_.reset();  // otherwise this process's death would not end the wait at the barrier
    const ReaperTask task{job.board_.get(), job.news_.get(), spec.livenessFile, &job.cgroup_,
                          term.channel,     term.isJob,      term.orphanGrace};
    becomeReaperOf(image, spec, signals, theirs.get(), task, parent);
  }
  job.reaper_ = child;
  try {
    job.reaperFd_ = openPidfd(child);
    job.awaitLeader();
    job.holdLeader();
  } catch (...) {
    ::kill(child, SIGKILL);  // the job ends at its barrier, which nobody opens
    reapOwnChild(child);
    uncountReaper(*job.board_.get(), job.term_);
    job.reaper_ = -1;
    throw;
  }
  return job;
}

void Job::awaitLeader() {
  pollfd entries[] = {{news_.get(), POLLIN, 0}, {reaperFd_.get(), POLLIN, 0}};
  while (board_->leader == 0 && !hasEnded(reaperFd_.get())) poll(entries, std::size(entries), -1);
  id_ = board_->leader;
  if (id_ > 0) return;
  errno = id_ < 0 ? -id_ : ESRCH;
  throwErrno("starting the job's process" + (limitBehind(errno).empty() ? "" : ": " + limitBehind(errno)));
}

/// Its number is its own until the reaper has waited for it, and the reaper notes its end before that.
void Job::holdLeader() {
  pidfd_ = tryOpenPidfd(id_);
  if (!status() && pidfd_) return;
  if (status()) throw std::runtime_error{"the job's process was killed before it began"};
  throwErrno("pidfd of the job's process");
}

Job::~Job() {
  if (reaper_ < 0 || !reaperFd_) return;  // moved from, or not begun
  if (!over_) kill();
  for (int waited = 0; !over_ && waited < mostMillisToDie; waited += lookMillis) {
    pollfd entry{news(), POLLIN, 0};
    poll(&entry, 1, lookMillis);
    look();
    if (!over_) kill();
  }
  // It may take a moment to end, and the lease is not released meanwhile. If it has ended, its SIGCHLD may have come
  // while reapAdopted() left it alone, and no other one will tell of it.
  if (reaped_) waitpid(reaper_, nullptr, WNOHANG | __WALL);
  leaveToReapAdopted(reaper_);
}

void Job::look() {
  std::uint64_t changes = 0;
  [[maybe_unused]] const ssize_t got = read(news_.get(), &changes, sizeof changes);
  if (over_) return;
  const bool ended = hasEnded(reaperFd_.get());  // before the board is read: it writes and then ends
  over_ = board_->over;
  if (over_) return;
  if (!ended) return wakeReaper();
  if (std::exchange(reaped_, false)) reapOwnChild(reaper_);
  collectAdopted();
}

/// Somebody has stopped it alone: then it could not say that the job has ended.
void Job::wakeReaper() const noexcept {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(reaper_), &info, WSTOPPED | WNOHANG) != 0 || info.si_pid == 0) return;
  signalProcess(reaperFd_.get(), SIGCONT);
}

/// In the place of a reaper that was killed. Its children have fallen to this process, as nothing else has.
void Job::collectAdopted() {
  siginfo_t info{};
  const int options = WEXITED | WNOHANG | WNOWAIT | __WALL;
  if (board_->ended < 0 && waitid(P_PID, static_cast<id_t>(id_), &info, options) == 0 && info.si_pid == id_) {
    board_->ended = encoded({info.si_code != CLD_EXITED, info.si_status});
  }
  reapAdopted(board_->ended < 0 ? id_ : 0);
  over_ = adoptedChildren().empty() && !cgroup_.isPopulated();
  if (over_ && board_->ended < 0) board_->ended = encoded({true, SIGKILL});  // waited for by somebody else
  if (over_) uncountReaper(*board_.get(), term_);
}

void Job::signalAdopted(int signal) {
  for (const pid_t process : adoptedChildren()) {
    if (signal == SIGTERM && std::find(told_.begin(), told_.end(), process) != told_.end()) continue;
    // The number of a child is its own until this process waits for it.
    if (::kill(process, signal) != 0 && errno == EPERM && !hasEndedAsChild(process) && !cgroup_.isPopulated())
      board_->stays = process;
    if (signal != SIGTERM) continue;
    ::kill(process, SIGCONT);
    told_.push_back(process);
  }
}

void Job::terminate() {
  if (reaped_ && commandReaper(reaperFd_.get(), terminateCommand())) return;
  look();
  if (over_) return;
  if (told_.empty()) {
    signalGroup(group(), SIGTERM);
    signalGroup(group(), SIGCONT);
    told_.push_back(id_);
  }
  signalAdopted(SIGTERM);
}

void Job::kill() {
  if (reaped_ && commandReaper(reaperFd_.get(), killCommand())) return;
  look();
  if (over_) return;
  signalGroup(group(), SIGKILL);
  signalAdopted(SIGKILL);
  cgroup_.kill();
}

std::optional<ExitStatus> Job::status() const noexcept {
  const std::int64_t ended = board_->ended;
  if (ended < 0) return std::nullopt;
  return decoded(ended);
}

std::optional<int> Job::takeStop() noexcept {
  if (std::exchange(stopsTaken_, board_->stops.load()) == board_->stops) return std::nullopt;
  return board_->stopSignal;
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
