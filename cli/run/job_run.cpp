#include "job_run.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <utility>

#include <tenure/lockcore/runtime.hpp>

#include "cli/process/job_processes.hpp"
#include "cli/process/process.hpp"
#include "cli/text/environment.hpp"
#include "cli/text/output.hpp"
#include "job_deadline.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_random.hpp"

namespace tenure::cli {
namespace {

using std::chrono::nanoseconds;

/// After SIGKILL: how often to check whether anything is left that could not die yet.
constexpr nanoseconds checkAgainAfter = std::chrono::milliseconds{20};

std::string newIdentity() {
  SystemRandom random;
  return hex128(random);
}

/// A job under another job's supervisor belongs to both jobs.
std::string markOf(const std::string& identity) {
  const std::string outer = environmentText(jobVariable);
  return outer.empty() ? identity : outer + ':' + identity;
}

JobSpec marked(JobSpec spec, const std::string& mark) {
  spec.environment[jobVariable] = mark;
  return spec;
}

Job startUnder(GuardChannel& channel, nanoseconds drainTimeout, const JobSpec& spec, const SignalState& signals) {
  channel.beginJob(drainTimeout);
  return Job::start(spec, signals, {&channel, true});
}

/// What a process is called, for people.
std::string processText(pid_t process) {
  std::ifstream file{"/proc/" + std::to_string(process) + "/comm"};
  std::string name;
  std::getline(file, name);
  return std::to_string(process) + (name.empty() ? "" : " (" + name + ")");
}

}  // namespace

JobRun::JobRun(const JobSpec& spec, nanoseconds drainTimeout, GuardChannel& channel, GuardKeeper& guard,
               const SignalState& signals, Logger logger, std::string name)
    : name_{std::move(name)},
      identity_{newIdentity()},
      mark_{markOf(identity_)},
      channel_{channel},
      guard_{guard},
      logger_{std::move(logger)},
      drainTimeout_{drainTimeout},
      job_{startUnder(channel, drainTimeout, marked(spec, mark_), signals)} {
  guard_.watch(job_, identity_, spec.livenessFile);
}

JobRun::~JobRun() { guard_.forget(); }

std::string JobRun::who() const { return name_ + " (process " + std::to_string(id()) + ")"; }

void JobRun::stop(const std::string& why) {
  if (!stopWhy_) stopWhy_ = why;
}

void JobRun::forward(int signal) const noexcept {
  if (barrierOpen_) signalProcess(job_.pidfd(), signal);
}

void JobRun::noteStops() {
  const std::optional<int> signal = job_.takeStop();
  if (!signal) return;
  const std::string what = who() + " has been stopped ";
  if (*signal == SIGTTIN || *signal == SIGTTOU) {
    return complain(what + "by the terminal, which it cannot " + (*signal == SIGTTIN ? "read from" : "set") +
                    " in a separate process group; give it its input by a file or a pipe, such as < /dev/null");
  }
  logger_.log(LogLevel::warn, what + "by " + signalText(*signal) + "; SIGCONT lets it continue");
}

std::vector<pollfd> JobRun::descriptors() const {
  const int reaper = job_.isReaped() && !over_ ? job_.reaperPidfd() : -1;
  return {{job_.news(), POLLIN, 0}, {reaper, POLLIN, 0}, {barrierOpen_ ? job_.execDescriptor() : -1, POLLIN, 0}};
}

nanoseconds JobRun::untilKill(const Instant& now) const {
  return cli::untilKill(now, channel_.term(), terminatedAt_, drainTimeout_);
}

std::optional<nanoseconds> JobRun::untilWake(const Instant& now) const {
  if (over_) return std::nullopt;
  if (killed_ || !job_.isReaped()) return checkAgainAfter;
  return terminatedAt_ ? untilKill(now) : std::min(untilKill(now), channel_.term().remainingAt(now));
}

void JobRun::act(const Instant& now) {
  if (over_) return;
  passBarrier(now);
  noteEnding();
  if (over_) return;
  if (!terminatedAt_) {
    if (status_) {
      terminate(now, "its first process has ended");
    } else if (stopWhy_) {
      terminate(now, *stopWhy_);
    } else if (!job_.isReaped()) {
      terminate(now, "its reaper process was killed");
    } else if (channel_.term().remainingAt(now).count() == 0) {
      terminate(now, "leadership has ended");
    }
  }
  if (hurried_ || killed_) {
    kill(hurried_.value_or("it was killed before"));
  } else if (untilKill(readClock()).count() <= 0) {  // looking for the job's processes has taken time
    kill("its time is over");
  }
}

/// A process that was stopped for a while may find its guard's answer and the end of its term at the same time.
void JobRun::passBarrier(const Instant& now) {
  if (!barrierOpen_ && guard_.isWatching() && !stopWhy_ && channel_.term().remainingAt(now).count() > 0) {
    barrierOpen_ = true;
    job_.openBarrier();
  }
  takeExecResult();
}

void JobRun::takeExecResult() {
  pollfd answer{barrierOpen_ ? job_.execDescriptor() : -1, POLLIN, 0};
  if (poll(&answer, 1, 0) == 1) execError_ = job_.takeExecResult();
}

void JobRun::noteEnding() {
  job_.look();
  noteStops();
  if (!status_) {
    status_ = job_.status();
    if (!status_) return;
    takeExecResult();  // a command that cannot be executed may end between the two checks
    stopped_ = terminatedAt_.has_value() || channel_.terminationClaimed() || !job_.isReaped();
  }
  over_ = job_.isOver();
  if (!over_) tellWhoStays();
}

void JobRun::tellWhoStays() {
  const pid_t stays = job_.stays();
  if (stays == 0 || std::exchange(toldStays_, stays) == stays) return;
  logger_.log(LogLevel::error, "process " + processText(stays) + " of " + who() +
                                   " runs as another user, so it cannot be ended; the lease is not released before "
                                   "it has ended: end it as that user or as root");
}

void JobRun::terminate(const Instant& now, const std::string& why) {
  const bool tooLate = untilKill(now).count() <= 0;
  terminatedAt_ = now;
  const bool isFirst = channel_.claimTermination();
  if (!barrierOpen_) return kill("it had not begun, and " + why);
  if (tooLate) return kill("its time is over");
  logger_.log(LogLevel::info, who() + " is asked to stop: " + why, LogEvent::jobStopping,
              {{"pid", id()}, {"reason", why}});
  if (!isFirst) return;  // the guard did it, because this process was late
  job_.terminate();
}

void JobRun::kill(const std::string& why) {
  if (!std::exchange(killed_, true)) {
    logger_.log(LogLevel::info, who() + " is killed: " + why, LogEvent::jobKilled, {{"pid", id()}, {"reason", why}});
  }
  job_.kill();
  noteEnding();
}

}  // namespace tenure::cli
