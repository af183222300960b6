#include "job_run.hpp"

#include <algorithm>
#include <csignal>
#include <system_error>
#include <utility>

#include <tenure/lockcore/runtime.hpp>

#include "environment.hpp"
#include "job_deadline.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "output.hpp"
#include "process.hpp"

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
      job_{Job::start(marked(spec, mark_), signals)},
      processes_{job_.group(), identity_} {
  channel_.beginJob(drainTimeout);
  guard_.watch(job_.group(), identity_, spec.livenessFile);
}

JobRun::~JobRun() {
  if (!over_) processes_.kill();
  guard_.forget();
}

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
                    " in a process group of its own; give it its input by a file or a pipe, such as < /dev/null");
  }
  logger_.log(LogLevel::warn, what + "by " + signalText(*signal) + "; SIGCONT lets it go on");
}

std::vector<pollfd> JobRun::descriptors() const {
  const int leader = status_ ? -1 : job_.pidfd();  // it stays readable once the leader has ended
  const int rest = status_ ? processes_.descriptor() : -1;
  return {{leader, POLLIN, 0}, {rest, POLLIN, 0}, {barrierOpen_ ? job_.execDescriptor() : -1, POLLIN, 0}};
}

nanoseconds JobRun::untilKill(const Instant& now) const {
  return cli::untilKill(now, channel_.term(), terminatedAt_, drainTimeout_);
}

std::optional<nanoseconds> JobRun::untilWake(const Instant& now) const {
  if (over_) return std::nullopt;
  if (killed_) return checkAgainAfter;
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
  if (!status_) {
    status_ = job_.status();
    if (!status_) return;
    takeExecResult();  // a command that cannot be executed may end between the two checks
    stopped_ = terminatedAt_.has_value() || channel_.terminationClaimed();
  }
  processes_.refresh();
  over_ = processes_.empty();
  if (const int error = processes_.lookError(); !over_ && error != 0 && !std::exchange(toldLookError_, true)) {
    complain("not all processes of this machine can be looked at (" + std::generic_category().message(error) +
             "), so whether anything of " + who() + " is left is not known; looking again");
  }
}

void JobRun::terminate(const Instant& now, const std::string& why) {
  const bool tooLate = untilKill(now).count() <= 0;
  terminatedAt_ = now;
  const bool isFirst = channel_.claimTermination();
  if (!barrierOpen_) return kill("it had not begun, and " + why);
  if (tooLate) return kill("its time is over");
  logger_.log(LogLevel::info, who() + " is told to stop: " + why, LogEvent::jobStopping,
              {{"pid", id()}, {"reason", why}});
  if (!isFirst) return;  // the guard did it, because this process was late
  processes_.terminate([this] { return untilKill(readClock()).count() <= 0; });
}

void JobRun::kill(const std::string& why) {
  if (!std::exchange(killed_, true)) {
    logger_.log(LogLevel::info, who() + " is killed: " + why, LogEvent::jobKilled, {{"pid", id()}, {"reason", why}});
  }
  processes_.kill();
  noteEnding();
}

}  // namespace tenure::cli
