#include "supervisor.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <unistd.h>
#include <utility>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/lease_key.hpp>

#include "adopted.hpp"
#include "config/src/duration.hpp"
#include "config/src/store_types.hpp"
#include "exec_image.hpp"
#include "lockcore/port/lease_store.hpp"
#include "output.hpp"
#include "pause_text.hpp"
#include "store_calls.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// timeout(1) sends its signal to the program and then to the group, so it comes twice within milliseconds. A user who
/// wants to hurry is not that quick.
constexpr milliseconds sameStopRequest{500};

/// The most that may be needed: two connections to SQLite or those to a server, liveness file, watches, timers, and the
/// pipes of the job.
constexpr std::size_t descriptorsNeeded = 24;

/// `on_lost: terminate` is carried out here. If the library ended this process, the job would be left to the guard,
/// which would have to notice that first.
Group withoutTerminate(GroupConfig config, std::shared_ptr<LeaseStore> store, Logger logger) {
  config.options.onLost = OnLost::callback;
  return Group::make(config.options, std::move(store), std::move(logger)).value();
}

/// The requests to the store are counted only where somebody can see the counts.
ops::MeteredStore storeOf(const GroupConfig& config, bool metered, const Logger& logger) {
  auto store = madeOrEnd(exitFailed, [&] {
    const StoreStatus files = config::typeOf(config.store).readFiles(config.store);
    if (!files && files.error().permanent) throw std::runtime_error{files.error().message};
    return makeStore(config.store, logger);
  });
  if (!metered) return {std::move(store)};
  const std::string name = store->describe();
  return ops::metered(std::move(store), name);
}

std::vector<int> heededSignals(const SignalState& state) {
  std::vector<int> out = state.heeded({SIGTERM, SIGINT, SIGHUP, SIGQUIT});
  out.insert(out.end(), {SIGUSR1, SIGUSR2, SIGCHLD});
  return out;
}

/// Of the group `name`: in the sentence, and as the first key of an event.
Logger prefixed(const Logger& logger, const std::string& name) {
  return Logger::ofRecords(LogLevel::trace, [logger, name](const LogRecord& record) {
    if (!logger.wants(record.level)) return;
    const std::string line = name + ": " + std::string{record.line};
    std::vector<LogField> fields{{"group", name}};
    fields.insert(fields.end(), record.fields.begin(), record.fields.end());
    if (record.event == LogEvent::message) fields.clear();
    logger.write({record.level, line, record.event, fields});
  });
}

PeriodicJob::Options periodicOptions(const SupervisorOptions& options, const Group& group) {
  PeriodicJob::Options out{*options.job, options.once, group.timing().duration()};
  // While there is no process that could show progress, the supervisor does it in each turn of its loop.
  if (const auto timeout = group.timing().progressTimeout()) {
    out.lookAtLeast = std::min<nanoseconds>(out.lookAtLeast, nanoseconds{*timeout} / 3);
  }
  return out;
}

/// A leader that lives renews within this time, and a dead one's lease is over, if it is not much longer than ours.
nanoseconds proofTime(const SupervisorOptions& options, const LeaseTiming& timing) {
  return options.busyIsFine ? 2 * nanoseconds{timing.duration()} + std::chrono::seconds{5} : nanoseconds{0};
}

/// A person at a terminal wants to see what goes on, and so does who sets the level `debug`.
bool mayHaveNothingToTell(const SupervisorOptions& options, LogLevel level) {
  return options.once && (options.job || options.busyIsFine) && level == LogLevel::info && isatty(STDERR_FILENO) != 1;
}

std::string secondsText(nanoseconds time) {
  return durationText(std::chrono::duration_cast<milliseconds>(std::max(time, nanoseconds{0})));
}

}  // namespace

Supervisor::Supervisor(GroupConfig config, SupervisorOptions options, const SignalState& signals)
    : terminates_{config.options.onLost == OnLost::terminate},
      logFormat_{config.logFormat},
      options_{std::move(options)},
      quietLog_{config.logLevel, config.logFormat, mayHaveNothingToTell(options_, config.logLevel)},
      startupLog_{quietLog_.logger()},
      logger_{prefixed(quietLog_.logger(), toString(LeaseKey{config.options.group}))},
      routing_{madeOrEnd(exitFailed, [&] { return routingOf(config, logger_); })},
      store_{storeOf(config, !options_.http.empty(), startupLog_.logger())},
      group_{withoutTerminate(std::move(config), store_.store, startupLog_.logger())},
      signalState_{signals},
      signals_{heededSignals(signals)},
      channel_{GuardChannel::create()},
      guard_{channel_},
      publisher_{channel_, group_.timing()},
      restartDelay_{group_.timing().duration()},
      service_{options_.service, sharedScheduler, logger_},
      firstContact_{readClock()},
      waitLimit_{options_.wait, readClock(), proofTime(options_, group_.timing())} {
  if (group_.timing().progressTimeout()) progress_.emplace();
  if (options_.job)
    periods_ = std::make_unique<PeriodicJob>(periodicOptions(options_, group_), tasks_, logger_,
                                             [] { return milliseconds{wallClockMillisForDisplay()}; });
}

Supervisor::~Supervisor() {
  job_.reset();
  renewing_.reset();
  revoking_.reset();
  work_.reset();
}

void Supervisor::complain(const std::string& message) const {
  if (logFormat_ == LogFormat::text) return cli::complain(message);
  logger_.log(LogLevel::error, message);
}

int Supervisor::run() {
  if (const auto fault = faultOfCommand(options_.command.front())) {
    complain(fault->message);
    return fault->exitCode;
  }
  requireFreeDescriptors(tasks_.descriptor(), descriptorsNeeded);
  if (!options_.http.empty() && !beginToListen()) return exitFailed;
  compete();
  while (!finished_) {
    wait();
    tasks_.run();
    takeSignals();
    keepGuard();
    if (progress_ && progress_->take() && term_) term_->reportProgress();
    advance(readClock());
    tellService(readClock());
  }
  tasks_.run();  // releases a term that began in the last moment
  return exitCode_.value_or(exitOk);
}

/// Before it competes, so that nothing has happened yet where this fails.
bool Supervisor::beginToListen() {
  auto listener = ops::HttpListener::start({.listen = options_.http, .hosts = options_.httpHosts, .logger = logger_});
  if (!listener) {
    complain("http: " + listener.error().front().message + "; nothing was done");
    return false;
  }
  http_ = std::move(*listener);
  http_->watch(store_.metrics);
  http_->watch([counts = jobCounts_, group = toString(group_.key())] { return counts->families(group); });
  return true;
}

void Supervisor::compete() {
  pausedAt_.reset();
  candidacy_ = std::make_unique<Candidacy>(group_, events(), tasks_, publisher_, view_, routing_);
  view_ = candidacy_->view();
  if (http_) http_->watch(view_);
}

CandidacyEvents Supervisor::events() {
  CandidacyEvents events;
  events.termBegan = [this](const Leadership& term, WorkHandle handle) { beginTerm(term, std::move(handle)); };
  events.termEnds = [this](FencingToken token) {
    if (job_ && term_->fencingToken() == token) job_->stop("leadership has ended");
  };
  events.leaderSeen = [this](const std::optional<LeaderInfo>& leader) {
    waitLimit_.leaderSeen(leader && !leader->self, readClock());
    leader_ = leader;
    noteHolder(leader);
  };
  events.doubted = [this](bool inDoubt) { inDoubt_ = inDoubt; };
  if (!options_.hooks.onRenewed.empty()) events.renewed = [this](FencingToken token) { startRenewed(token); };
  events.stopped = [this](ReleaseResult result) { stopped_ = result; };
  return events;
}

void Supervisor::wait() {
  const Instant now = readClock();
  std::optional<nanoseconds> left = job_ ? job_->untilWake(now) : std::nullopt;
  if (periods_) left = earlier(left, periods_->untilLook());
  left = earlier(left, waitLimit_.untilLook(now));
  if (candidacy_) left = earlier(left, firstContact_.untilLook(now));
  left = earlier(earlier(left, untilQuit(now)), service_.untilAct(now));
  left = earlier(left, untilHooks(now));
  if (pausedAt_) left = earlier(left, restartDelay_.present() - elapsedForHolder(*pausedAt_, now));
  left = earlier(earlier(left, holderNote_.untilDue(now)), stubbornNote_.untilDue(now));
  timer_.arm(left);
  std::vector<pollfd> entries = job_ ? job_->descriptors() : std::vector<pollfd>{};
  const int progress = progress_ ? progress_->descriptor() : -1;
  for (const auto* hook : {renewing_.get(), revoking_.get()}) {
    if (hook != nullptr) entries.push_back(hook->descriptor());
  }
  for (const int fd :
       {signals_.descriptor(), tasks_.descriptor(), timer_.descriptor(), guard_.control(), guard_.pidfd(), progress}) {
    entries.push_back({fd, POLLIN, 0});
  }
  poll(entries.data(), entries.size(), -1);
  timer_.drain();
}

void Supervisor::takeSignals() {
  while (const auto signal = signals_.next()) {
    if (*signal == SIGCHLD) {
      reapAdopted(job_ ? job_->id() : 0);
    } else if (*signal == SIGUSR1 || *signal == SIGUSR2) {
      if (job_ && !electing_) job_->forward(*signal);
    } else if (*signal == SIGQUIT) {
      stopPolitely(*signal);
      hurry();
    } else if (!stopAskedAt_) {
      stopPolitely(*signal);
    } else if (elapsedForHolder(*stopAskedAt_, readClock()) >= sameStopRequest) {
      hurry();
    }
  }
}

void Supervisor::stopPolitely(int signal) {
  if (!stopAskedAt_) {
    stopAskedAt_ = readClock();
    logger_.log(LogLevel::info, "asked to stop by " + signalText(signal));
  }
  if (job_) {
    job_->stop("the supervisor was asked to stop");
    stubbornNote_.set(job_->who() + " has not ended yet; it is killed " + secondsText(group_.timing().drainTimeout()) +
                          " after the first signal at the latest, and by a second one at once",
                      *stopAskedAt_);
  }
  if (!job_ || electing_ || !options_.once) leave(codeOfStop(signal));
  if (candidacy_) candidacy_->stop();
}

/// To be stopped is how a service ends. But what follows `run --once ... &&` must not go on without it.
int Supervisor::codeOfStop(int signal) const {
  if (!options_.once) return exitOk;
  return periods_ && periods_->notesEnd() ? *periods_->lastCode() : ExitStatus{true, signal}.shellCode();
}

void Supervisor::hurry() {
  if (job_) {
    logger_.log(LogLevel::warn, "asked to stop at once: " + job_->who() + " is killed");
    job_->hurry();
    return;
  }
  if (revoking_) {
    logger_.log(LogLevel::warn, "asked to stop at once: hook on_revoked is killed");
    revoking_->kill();
    return;
  }
  // Only the wait for the store is left. Nothing acts under the lease any more, so it may simply expire.
  logger_.log(LogLevel::warn, "asked to stop at once: ends without waiting for the release");
  exitAtOnce(exitCode_.value_or(exitOk));
}

void Supervisor::keepGuard() {
  guard_.takeAnswers();
  if (!hasEnded(guard_.pidfd())) return;
  std::string why;
  if (guard_.replace(why)) return logger_.log(LogLevel::warn, "the guard process ended and was replaced");
  complain("stops, because " + why);
  if (job_) job_->stop(why);
  leave(exitFailed);
}

/// A user who runs a command under a lock wants to know which holder the wait is for.
void Supervisor::noteHolder(const std::optional<LeaderInfo>& leader) {
  if (!options_.namesHolder || !leader || leader->self) return holderNote_.drop();
  holderNote_.set("waits for lock " + toString(group_.key()) + ": " + personOf(leader->holder) + " holds it " +
                      withToken(leader->token),
                  readClock());
}

void Supervisor::advance(const Instant& now) {
  if (job_) holderNote_.drop();
  if (!job_) stubbornNote_.drop();
  if (const auto note = holderNote_.take(now)) complain(*note);
  if (const auto note = stubbornNote_.take(now)) complain(*note);
  actHooks(now);
  if (job_) {
    publisher_.publish(*term_);
    job_->act(now);
    if (job_->isOver()) endJob();
  }
  if (periods_ && term_ && !job_ && !endsTerm()) betweenRuns(now);
  if (candidacy_ && !stopped_ && !firstContact_.isMade()) makeContact(now, candidacy_->status().lease);
  if (!job_ && candidacy_ && !stopped_) {
    const LeaseStatus lease = candidacy_->status().lease;
    if (waitLimit_.isOver(now, lease)) giveUpWaiting(now, lease);
  }
  settle(now);
  if (!finished_ && untilQuit(now).value_or(unansweredTime).count() <= 0) quit();
  if (pausedAt_ && elapsedForHolder(*pausedAt_, now) >= restartDelay_.present()) compete();
}

void Supervisor::leave(int code) {
  if (!exitCode_) exitCode_ = code;
  if (code != exitOk) quietLog_.open();
  waitLimit_.lift();
  if (candidacy_) {
    candidacy_->stop();
  } else {
    finished_ = true;
  }
}

/// The elector has stopped: ends the program, or pauses before it competes again.
void Supervisor::settle(const Instant& now) {
  if (!stopped_ || job_ || endsTerm()) return;
  if (*stopped_ == ReleaseResult::unknown || *stopped_ == ReleaseResult::notDrained) {
    logger_.log(LogLevel::warn,
                "the lease was not released (" + std::string{toString(*stopped_)} + "); it expires by itself");
  }
  // An attempt of a wait that is over may still arrive.
  if (gaveUpAt_ && *stopped_ == ReleaseResult::unknown) exitCode_ = exitUnknown;
  stopped_.reset();
  candidacy_.reset();
  if (exitCode_) {
    finished_ = true;
  } else {
    pausedAt_ = now;
  }
}

/// Before the store's first answer, only the cause shows whether the set-up is wrong or the store is out of service.
void Supervisor::makeContact(const Instant& now, const LeaseStatus& lease) {
  if (exitCode_) return;
  const auto advice = firstContact_.look(now, lease);
  if (firstContact_.isMade()) return startupLog_.open();
  if (!advice) return;
  startupLog_.told(advice->cause);
  waitTold_ = true;
  if (advice->kind == FirstContact::Advice::Kind::giveUp) {
    complain("cannot compete: " + advice->cause);
    return leave(exitStore);
  }
  const std::string cause = advice->cause.empty() ? "no answer yet" : advice->cause;
  logger_.log(LogLevel::warn, "has waited for its store for " + secondsText(advice->waited) + ": " + cause);
}

std::optional<nanoseconds> Supervisor::untilQuit(const Instant& now) const {
  if (!gaveUpAt_) return std::nullopt;
  return unansweredTime - elapsedForHolder(*gaveUpAt_, now);
}

/// The store has not answered in time. No job was started, so nothing acts; but it is not known whether we have the
/// lease.
void Supervisor::quit() {
  startupLog_.open();
  if (*exitCode_ != exitOk || mayHaveAcquired_) quietLog_.open();
  if (!mayHaveAcquired_) exitAtOnce(*exitCode_);
  complain("it is not known whether an attempt to acquire " + toString(group_.key()) +
           " arrived, because the store has not answered; if it did, nobody is elected for " +
           durationText(group_.timing().duration()));
  exitAtOnce(exitUnknown);
}

void Supervisor::giveUpWaiting(const Instant& now, const LeaseStatus& lease) {
  gaveUpAt_ = now;
  mayHaveAcquired_ = lease.state != LeaseState::candidate && lease.state != LeaseState::idle;
  if (lease.leader && !lease.leader->self) {
    const auto who = [&](const std::string& what) { return whoHas(what, lease.leader->holder, lease.leader->token); };
    if (options_.busyIsFine && WaitLimit::isProvenBusy(lease)) {
      logger_.log(LogLevel::info, "has nothing to do, because " + who("this group"));
      return leave(exitOk);
    }
    complain("busy: " + who(toString(group_.key())) +
             (options_.busyIsFine ? ", but was not seen to renew the lease, so it may be dead" : ""));
    return leave(exitBusy);
  }
  if (lease.lastError) {
    startupLog_.told(lease.lastError->message);
    complain("not elected: " + lease.lastError->message);
    return leave(exitStore);
  }
  const std::string notYet = "not elected within " + durationText(*options_.wait);
  if (lease.leaderSeenAgo.count() < 0) {
    complain(notYet + ": the store has not answered");
    return leave(exitStore);
  }
  complain(notYet + "; nobody leads " + toString(group_.key()) + " yet");
  leave(exitBusy);
}

}  // namespace tenure::cli
