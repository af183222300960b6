#include "guard.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <utility>

#include <tenure/lockcore/clock.hpp>

#include "cli/process/children.hpp"
#include "cli/process/job_cgroup.hpp"
#include "cli/process/job_processes.hpp"
#include "cli/process/wakeups.hpp"
#include "cli/text/output.hpp"
#include "crash_release.hpp"
#include "guard_channel.hpp"
#include "guard_protocol.hpp"
#include "job_deadline.hpp"
#include "reaper.hpp"

namespace tenure::cli {
namespace {

using std::chrono::nanoseconds;

/// After SIGKILL: when to check whether anything is left that could not die yet; each further check comes after twice
/// the time. A process in state D may take minutes, and each check walks through /proc in the real-time class.
constexpr nanoseconds killAgainAfter = std::chrono::milliseconds{20};
constexpr nanoseconds killAgainAtMost = std::chrono::seconds{1};

/// How often to look whether the proof of a crash notice is complete: of hooks no descriptor tells.
constexpr int proofMillis = 5;

struct WatchedJob {
  UniqueFd leader;
  UniqueFd reaper;
  UniqueFd news;
  UniqueFd livenessFile;   ///< held until nothing of the job is left, because the job may have closed its own
  JobProcesses processes;  ///< for a job whose reaper was killed
  JobCgroup cgroup;
  std::optional<Instant> terminatedAt{};
  bool killed{false};
  nanoseconds killAgain{killAgainAfter};
};

void report(bool killed) {
  const std::string how = killed ? "with SIGKILL" : "with SIGTERM";
  tell("tenure guard: the supervisor is gone; its job was ended " + how + '\n');
}

void drain(int event) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(event, &count, sizeof count);
}

class Guard {
 public:
  explicit Guard(const GuardDescriptors& descriptors)
      : control_{descriptors.control},
        supervisor_{descriptors.supervisor},
        firstProcess_{descriptors.firstProcess},
        channel_{GuardChannel::open(UniqueFd{descriptors.memory})} {}

  int run();

 private:
  void wait();
  void takeMessages();
  void watch(ReceivedMessage received);
  void act();
  void prepareNotice();
  [[noreturn]] void giveNotice();
  void terminate(const Instant& now);
  void terminateUnderSupervisor() const;
  void kill();
  void signalUnderSupervisor(pid_t process, pid_t parent, int signal) const;
  [[nodiscard]] int endings() const { return isReaped() ? job_->reaper.get() : job_->processes.descriptor(); }
  [[nodiscard]] bool isReaped() const { return !hasEnded(job_->reaper.get()); }
  [[nodiscard]] bool isJobOver();
  [[nodiscard]] bool hurries() const;
  [[nodiscard]] std::optional<nanoseconds> untilTerminate(const Instant& now, const TermState& term) const;
  [[nodiscard]] nanoseconds untilKill(const Instant& now, const TermState& term) const;
  /// Until nothing may act under the term any more.
  [[nodiscard]] nanoseconds untilInvalid() const;
  UniqueFd control_;
  UniqueFd supervisor_;
  UniqueFd firstProcess_;
  const pid_t supervisorId_{getppid()};
  GuardChannel channel_;
  WakeTimer timer_;
  std::optional<WatchedJob> job_;
  std::optional<CrashRelease> notice_;
  bool supervisorGone_{false};
};

int Guard::run() {
  while (!supervisorGone_ || job_) {
    wait();
    takeMessages();
    if (!supervisorGone_ && hasEnded(supervisor_.get())) supervisorGone_ = true;
    act();
    if (supervisorGone_) prepareNotice();
    if (supervisorGone_ && untilInvalid().count() <= 0) firstProcess_.reset();
  }
  if (notice_) giveNotice();
  return 0;
}

void Guard::prepareNotice() {
  const auto term = notice_ ? std::nullopt : channel_.noticedTerm();
  if (term) notice_.emplace(channel_.configuration(), *term);
}

/// The supervisor is gone, and no job is left to end.
void Guard::giveNotice() {
  const auto step = [this] { return nextStep({hasEnded(supervisor_.get()), channel_.reapersLeft(), untilInvalid()}); };
  CrashStep next = step();
  for (; next == CrashStep::wait; next = step()) poll(nullptr, 0, proofMillis);
  if (next == CrashStep::release) notice_->release([this] { return untilInvalid(); });
  const bool isProven = hasEnded(supervisor_.get()) && channel_.reapersLeft() == 0;  // but too late
  if (next == CrashStep::leave && !isProven)
    tell("tenure guard: does not release the lease: not all of its processes were seen to end\n");
  exitAtOnce(0);
}

void Guard::wait() {
  // Once the supervisor is gone, its two descriptors stay readable for ever.
  const bool alone = supervisorGone_ && job_;
  pollfd entries[] = {{supervisorGone_ ? -1 : control_.get(), POLLIN, 0},
                      {supervisorGone_ ? -1 : supervisor_.get(), POLLIN, 0},
                      {timer_.descriptor(), POLLIN, 0},
                      {alone ? endings() : -1, POLLIN, 0},
                      {alone && isReaped() ? job_->news.get() : -1, POLLIN, 0}};
  poll(entries, std::size(entries), -1);
  timer_.drain();
  if (alone) drain(job_->news.get());
}

void Guard::takeMessages() {
  bool closed = false;
  while (auto received = receiveMessage(control_.get(), closed)) {
    if (received->message.kind == GuardMessage::Kind::watch) {
      watch(std::move(*received));
    } else {
      job_.reset();
    }
  }
  if (closed) supervisorGone_ = true;
}

void Guard::watch(ReceivedMessage received) {
  const GuardMessage& message = received.message;
  if (!received.leader || !received.reaper || !received.news ||
      (message.hasLivenessFile != 0 && !received.livenessFile) || (message.hasCgroup != 0 && !received.cgroup)) {
    throw std::runtime_error{"guard: the job's descriptors did not arrive; raise the limit of open files (ulimit -n)"};
  }
  const ProcessGroup group{received.leader.get(), message.group};
  JobCgroup cgroup{std::move(received.cgroup)};
  JobProcesses processes{group, message.identity, cgroup.name()};
  job_.emplace(WatchedJob{std::move(received.leader), std::move(received.reaper), std::move(received.news),
                          std::move(received.livenessFile), std::move(processes), std::move(cgroup)});
  GuardMessage answer = message;
  answer.kind = GuardMessage::Kind::watched;
  sendMessage(control_.get(), answer);
}

void Guard::act() {
  if (!job_) return timer_.arm(std::nullopt);
  const TermState term = channel_.term();
  const Instant begun = readClock();
  const auto terminateIn = untilTerminate(begun, term);
  if (terminateIn && terminateIn->count() <= 0 && untilKill(begun, term).count() > 0) terminate(begun);
  if (untilKill(readClock(), term).count() <= 0) kill();
  if (supervisorGone_ && isJobOver()) {
    const bool killed = job_->killed;
    job_.reset();
    return report(killed);
  }
  const Instant now = readClock();  // each look for the job's processes has taken time
  if (!job_->killed) return timer_.arm(earlier(untilTerminate(now, term), untilKill(now, term)));
  timer_.arm(supervisorGone_ || !isReaped() ? std::optional{job_->killAgain} : std::nullopt);
  job_->killAgain = std::min(job_->killAgain * 2, killAgainAtMost);
}

/// Without the reaper's word only the lease's end counts: a look at /proc does not see all of a job.
bool Guard::isJobOver() {
  const bool reaped = isReaped();  // before its word is read: it gives it and then ends
  if (channel_.isJobOver()) return true;
  if (reaped) return false;
  job_->processes.refresh([this] { return hurries(); });
  return job_->processes.empty() && !job_->cgroup.isPopulated() && untilInvalid().count() <= 0;
}

nanoseconds Guard::untilInvalid() const {
  return cli::untilKill(readClock(), channel_.term(), std::nullopt, nanoseconds{0});
}

std::optional<nanoseconds> Guard::untilTerminate(const Instant& now, const TermState& term) const {
  if (job_->terminatedAt) return std::nullopt;
  if (supervisorGone_) return nanoseconds{0};
  if (channel_.terminationClaimed()) return std::nullopt;
  return term.remainingAt(now);
}

nanoseconds Guard::untilKill(const Instant& now, const TermState& term) const {
  const auto drainsSince = supervisorGone_ ? job_->terminatedAt : std::nullopt;
  return cli::untilKill(now, term, drainsSince, channel_.drainTimeout());
}

void Guard::terminate(const Instant& now) {
  // A supervisor that claimed it may have died before it sent the signal. Then sending it twice is better than never.
  if (!channel_.claimTermination() && !supervisorGone_) return;
  job_->terminatedAt = now;
  if (commandReaper(job_->reaper.get(), terminateCommand())) return;
  if (!supervisorGone_) return terminateUnderSupervisor();
  job_->processes.terminate([this] { return hurries(); });
}

/// Without a look at all processes: the kernel makes a reader of a foreign environment wait for an exec or a page fault
/// of that process, on a busy machine for longer than this job has left.
void Guard::terminateUnderSupervisor() const {
  const ProcessGroup& group = job_->processes.group();
  const bool groupIsTold = signalGroup(group, SIGTERM);
  signalGroup(group, SIGCONT);
  eachDescendant(supervisorId_, [&](pid_t process, pid_t parent) {
    if (groupIsTold && getpgid(process) == group.id) return;
    signalUnderSupervisor(process, parent, SIGTERM);
    signalUnderSupervisor(process, parent, SIGCONT);
  });
}

/// A look at all processes of the machine may take longer than the time that is left to the job.
bool Guard::hurries() const { return !job_->killed && untilKill(readClock(), channel_.term()).count() <= 0; }

/// Called even if the supervisor lives: a frozen supervisor cannot object, and will find the job gone and the term
/// over.
void Guard::kill() {
  // Also claimed if nobody told the job to stop, so that the supervisor does not take this for an end of the job by
  // itself.
  if (!std::exchange(job_->killed, true)) static_cast<void>(channel_.claimTermination());
  if (!channel_.isJobOver()) channel_.noteKill();
  // The group at once: the reaper may be slower on a busy machine, because it may not have the real-time class.
  signalGroup({job_->leader.get(), job_->processes.group().id}, SIGKILL);
  if (commandReaper(job_->reaper.get(), killCommand())) return;
  eachDescendant(supervisorId_,
                 [this](pid_t process, pid_t parent) { signalUnderSupervisor(process, parent, SIGKILL); });
  job_->cgroup.kill();  // before the look at all processes, which takes longer
  job_->processes.kill();
}

/// The kernel has given what a killed reaper had to the supervisor, which may be frozen. The rest of its children has
/// no work after this term either, except for this process.
void Guard::signalUnderSupervisor(pid_t process, pid_t parent, int signal) const {
  if (process == getpid() || hasEnded(supervisor_.get())) return;  // then its number may be a stranger's
  static_cast<void>(signalDescendant(process, parent, supervisorId_, signal));
}

void detach(const GuardDescriptors& descriptors) {
  sigset_t all{};
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  // The guard gets a process group of its own, so that a signal to the supervisor's group does not hit it. It gets no
  // session of its own: where sched_autogroup is on, a session has its own share of the processor, and the guard was
  // seen to wait for two seconds for that share.
  setpgid(0, 0);
  prctl(PR_SET_NAME, "tenure-guard");
  prctl(PR_SET_DUMPABLE, 0);  // the job must not open its memory or its descriptors
  std::array<int, 4> kept{descriptors.control, descriptors.memory, descriptors.supervisor, descriptors.firstProcess};
  closeAllFrom(STDERR_FILENO + 1, kept);
  for (const int fd : kept) fcntl(fd, F_SETFD, FD_CLOEXEC);  // the store may run a credential process
  const UniqueFd nothing{open("/dev/null", O_RDWR | O_CLOEXEC)};
  dup2(nothing.get(), STDIN_FILENO);
  dup2(nothing.get(), STDOUT_FILENO);
  hurryUp();                            // the guard is needed exactly when the machine is busy
  mlockall(MCL_CURRENT | MCL_ONFAULT);  // no waiting for pages that it has used before
}

}  // namespace

int runGuard(const GuardDescriptors& descriptors) {
  neverWaitForReaders();
  detach(descriptors);
  return Guard{descriptors}.run();
}

}  // namespace tenure::cli
