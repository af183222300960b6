#include "supervisor.hpp"

#include <algorithm>
#include <csignal>
#include <sys/prctl.h>
#include <unistd.h>
#include <utility>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/lease_record.hpp>

#include "cli/group/store_calls.hpp"
#include "cli/process/adopted.hpp"
#include "cli/process/exec_image.hpp"
#include "cli/process/first_process.hpp"
#include "cli/text/output.hpp"
#include "config/src/duration.hpp"
#include "config/src/store_types.hpp"
#include "job_run.hpp"
#include "lockcore/port/extended_store.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

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
    return makeStore(config::storeOfRun(config), logger);
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

/// Null: the command is no periodic job.
std::unique_ptr<PeriodicJob> periodsOf(const SupervisorOptions& options, const Group& group, MainTasks& tasks,
                                       const Logger& logger) {
  if (!options.job) return nullptr;
  return std::make_unique<PeriodicJob>(periodicOptions(options, group), tasks, logger,
                                       [] { return milliseconds{wallClockMillisForDisplay()}; });
}

/// Beyond what LeaderElector::stop() may take: for the end of this process itself.
constexpr std::chrono::seconds endOfProcess{2};

std::string secondsText(nanoseconds time) {
  return durationText(std::chrono::duration_cast<milliseconds>(std::max(time, nanoseconds{0})));
}

}  // namespace

Supervisor::Supervisor(GroupConfig config, SupervisorOptions options, const SignalState& signals)
    : terminates_{config.options.onLost == OnLost::terminate},
      noticeConfiguration_{config::givesCrashNotice(config) ? effectiveYaml(config) : std::string{}},
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
      channel_{GuardChannel::create(noticeConfiguration_)},
      guard_{channel_},
      publisher_{channel_, group_.timing()},
      progress_{group_.timing().progressTimeout() && !options_.hooks.hasProbe()
                    ? std::optional<ProgressPipe>{std::in_place}
                    : std::nullopt},
      service_{options_.service, sharedScheduler, logger_},
      shutdown_{options_.once},
      contact_{{.lease = toString(group_.key()),
                .wait = options_.wait,
                .proofTime = proofTime(options_, group_.timing()),
                .busyIsFine = options_.busyIsFine,
                .namesHolder = options_.namesHolder},
               readClock()},
      readiness_{readiness()},
      probe_{probe()},
      periods_{periodsOf(options_, group_, tasks_, logger_)},
      restartDelay_{group_.timing().duration()},
      work_{workOptions(),
            {group_.timing(), shutdown_, channel_, publisher_, *jobCounts_, periods_.get(),
             progress_ ? &*progress_ : nullptr, logger_},
            processes(),
            workEvents()} {
  // The job must not open the memory by which the guard judges a crash.
  if (!noticeConfiguration_.empty()) prctl(PR_SET_DUMPABLE, 0);
}

void Supervisor::complain(const std::string& message) const {
  if (logFormat_ == LogFormat::text) return cli::complain(message);
  logger_.log(LogLevel::error, message);
}

TermWork::Options Supervisor::workOptions() const {
  return {
      .lease = toString(group_.key()),
      .command = options_.command,
      .once = options_.once,
      .terminates = terminates_,
      .hooks = options_.hooks,
      .spec = [this](const Leadership& term) { return termSpec(term); },
      .jobEnvironment = options_.jobMayNotify ? options_.service.variables : decltype(options_.service.variables){}};
}

TermProcesses Supervisor::processes() {
  return {[this](const JobSpec& spec, const std::string& name) {
            return std::make_unique<JobRun>(spec, jobDrainTimeout(group_.timing()), channel_, guard_, signalState_,
                                            logger_, name);
          },
          [this](const std::string& name, const JobSpec& spec, const Instant& now, bool endsWithTerm) {
            return std::make_unique<HookRun>("hook " + name, spec, HookLimit{options_.hooks.timeout}, signalState_, now,
                                             endsWithTerm ? &channel_ : nullptr);
          }};
}

TermWorkEvents Supervisor::workEvents() {
  return {[this](int code) { leave(code); },
          [this](bool failed, nanoseconds ran, const std::string& why) { pauseAndCompete(failed, ran, why); },
          [this](const std::string& message) { complain(message); }, [this] { quietLog_.open(); }};
}

std::optional<RepeatedCheck> Supervisor::readiness() {
  const HooksConfig& hooks = options_.hooks;
  if (hooks.ready.empty()) return std::nullopt;
  return RepeatedCheck{{.every = hooks.readyEvery,
                        .run =
                            [this](const Instant& now) {
                              JobSpec spec = groupSpec();
                              spec.command = hookCommand(options_.hooks.ready);
                              return std::make_unique<HookRun>("hook candidate.ready", spec,
                                                               HookLimit{options_.hooks.timeout}, signalState_, now,
                                                               nullptr);
                            },
                        .changed = [this](bool ready, const std::string& why) { readyChanged(ready, why); }}};
}

void Supervisor::readyChanged(bool ready, const std::string& why) {
  if (ready) {
    logger_.log(LogLevel::info, "is ready");
  } else {
    logger_.log(LogLevel::warn, "is not ready: " + why);
  }
  if (candidacy_) candidacy_->setReady(ready, "not ready: " + why);
}

/// The probe's processes are not the job's, so one that hangs keeps no term open.
std::optional<RepeatedCheck> Supervisor::probe() {
  const HooksConfig& hooks = options_.hooks;
  if (!hooks.hasProbe()) return std::nullopt;
  const milliseconds timeout = *group_.timing().progressTimeout();
  const HookLimit limit{hooks.probeLimit(timeout), "lease.probe_timeout"};
  return RepeatedCheck{
      {.every = hooks.probePause(timeout),
       .run = [this, limit](const Instant& now) { return runProbe(limit, now); },
       .changed =
           [this](bool good, const std::string& why) {
             logger_.log(good ? LogLevel::info : LogLevel::warn, good ? "the probe of the lease succeeds" : why);
           },
       .succeeded = [this](const Instant& began, const Instant& now) { work_.probed(elapsedForHolder(began, now)); }}};
}

std::unique_ptr<HookProcess> Supervisor::runProbe(const HookLimit& limit, const Instant& now) const {
  const HooksConfig& hooks = options_.hooks;
  JobSpec spec = groupSpec();
  spec.writes = !hooks.probeWrite.empty();
  spec.command = spec.writes ? std::vector{hooks.probeWrite} : hookCommand(hooks.probe);
  return std::make_unique<HookRun>("lease.probe", spec, limit, signalState_, now, nullptr);
}

JobSpec Supervisor::groupSpec() const {
  JobSpec spec;
  spec.environment = {{"TENURE_GROUP", group_.name()},
                      {"TENURE_STORE", group_.store()->describe()},
                      {"TENURE_LEASE_DURATION", durationText(group_.timing().duration())},
                      {"TENURE_DRAIN_TIMEOUT", durationText(group_.timing().drainTimeout())}};
  if (!options_.configFile.empty()) spec.environment["TENURE_CONFIG"] = options_.configFile;
  return spec;
}

/// What a process finds that acts under this term.
JobSpec Supervisor::termSpec(const Leadership& term) const {
  JobSpec spec = groupSpec();
  spec.environment["TENURE_FENCING_TOKEN"] = toString(term.fencingToken());
  spec.environment["TENURE_LEASE"] = term.leaseName();
  spec.environment["TENURE_CANDIDATE"] = term.holder();
  // As long as anything of the job is left, this holder must count as alive.
  const std::shared_ptr<DeathNotice> notice = extended(group_.store())->deathNotice();
  if (notice) spec.livenessFile = notice->descriptor();
  return spec;
}

int Supervisor::run() {
  if (const auto fault = faultOfCommand(options_.command.front())) {
    complain(fault->message);
    return fault->exitCode;
  }
  requireFreeDescriptors(tasks_.descriptor(), descriptorsNeeded);
  requireWaitid();
  boundFirstProcess(group_.timing().duration());
  if (!options_.http.empty() && !beginToListen()) return exitFailed;
  compete();
  while (!finished_) {
    wait();
    tasks_.run();
    takeSignals();
    keepGuard();
    advance(readClock());
    tellService(readClock());
  }
  tasks_.run();  // releases a term that began in the last moment
  if (probe_) probe_->stop();
  return shutdown_.code();
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
  http_->watch([counts = jobCounts_, group = group_.name()] { return counts->families(group); });
  return true;
}

void Supervisor::compete() {
  pausedAt_.reset();
  candidacy_ = std::make_unique<Candidacy>(group_, candidacyEvents(), tasks_, publisher_, view_, routing_,
                                           !readiness_ || readiness_->isGood());
  view_ = candidacy_->view();
  if (http_) http_->watch(view_);
}

/// The first time has shown that it can, so what is in the way now (no thread, no memory) may pass.
void Supervisor::competeAgain(const Instant& now) {
  try {
    compete();
  } catch (const std::exception& error) {
    if (candidacy_) throw;  // it competes already, and only its end may end it
    pausedAt_ = now;
    logger_.log(LogLevel::warn, std::string{"cannot compete: "} + error.what() + "; tries again in " +
                                    secondsText(restartDelay_.afterEnd(true, nanoseconds{0})));
  }
}

CandidacyEvents Supervisor::candidacyEvents() {
  CandidacyEvents events;
  events.termBegan = [this](const Leadership& term, WorkHandle handle) {
    if (!shutdown_.isNear()) contact_.stopWaiting();
    work_.begin(term, std::move(handle), readClock());
  };
  events.termEnds = [this](FencingToken token) { work_.leadershipEnds(token); };
  events.leaderSeen = [this](const std::optional<LeaderInfo>& leader) { contact_.leaderSeen(leader, readClock()); };
  events.doubted = [this](bool inDoubt) { work_.doubted(inDoubt); };
  if (!options_.hooks.onRenewed.empty()) {
    events.renewed = [this](FencingToken token) { work_.renewed(token, readClock()); };
  }
  events.stopped = [this](ReleaseResult result) { stopped_ = result; };
  return events;
}

void Supervisor::wait() {
  const Instant now = readClock();
  std::optional<nanoseconds> left = earlier(work_.untilWake(now), contact_.untilLook(now, candidacy_ != nullptr));
  left = earlier(earlier(left, shutdown_.untilQuit(now)), service_.untilAct(now));
  if (readiness_) left = earlier(left, readiness_->untilWake(now));
  if (probe_) left = earlier(left, probe_->untilWake(now, work_.hasTerm()));
  if (pausedAt_) left = earlier(left, restartDelay_.present() - elapsedForHolder(*pausedAt_, now));
  timer_.arm(earlier(left, stubbornNote_.untilDue(now)));
  std::vector<pollfd> entries = work_.descriptors();
  for (const auto* check : {&readiness_, &probe_}) {
    if (const auto news = *check ? (*check)->descriptor() : std::nullopt) entries.push_back(*news);
  }
  for (const int fd :
       {signals_.descriptor(), tasks_.descriptor(), timer_.descriptor(), guard_.control(), guard_.pidfd()}) {
    entries.push_back({fd, POLLIN, 0});
  }
  poll(entries.data(), entries.size(), -1);
  timer_.drain();
}

void Supervisor::takeSignals() {
  while (const auto signal = signals_.next()) {
    if (*signal == SIGCHLD) {
      reapAdopted(work_.job() != nullptr ? work_.job()->id() : 0);
    } else if (*signal == SIGUSR1 || *signal == SIGUSR2) {
      work_.forward(*signal);
    } else {
      const Instant now = readClock();
      const bool first = !shutdown_.isAsked();
      const Shutdown::Request request = shutdown_.take(*signal, now);
      if (request.stop) stopPolitely(*signal, first, now);
      if (request.hurry) hurry();
    }
  }
}

void Supervisor::stopPolitely(int signal, bool first, const Instant& now) {
  if (first) logger_.log(LogLevel::info, "asked to stop by " + signalText(signal));
  JobProcess* const job = work_.job();
  if (job != nullptr) job->stop("the supervisor was asked to stop");
  if (job != nullptr && first) {
    stubbornNote_.set(job->who() + " has not ended yet; it is killed " + secondsText(group_.timing().drainTimeout()) +
                          " after the first signal at the latest, and by a second one at once",
                      now);
  }
  const bool notes = periods_ && periods_->notesEnd();
  if (job == nullptr || work_.isElecting() || !options_.once) {
    leave(shutdown_.codeOfStop(signal, notes ? periods_->lastCode() : std::nullopt));
  }
  if (candidacy_) candidacy_->stop();
}

void Supervisor::hurry() {
  if (work_.hurry()) return;
  // Only the wait for the store is left, or for a hook that nothing ends. The lease may simply expire.
  channel_.forgoNotice();
  logger_.log(LogLevel::warn, "asked to stop at once: ends without waiting for the release");
  exitAtOnce(shutdown_.code());
}

void Supervisor::keepGuard() {
  guard_.takeAnswers();
  if (!hasEnded(guard_.pidfd())) return;
  std::string why;
  channel_.forgoNotice();
  if (guard_.replace(why)) return logger_.log(LogLevel::warn, "the guard process ended and was replaced");
  complain("stops, because " + why);
  if (work_.job() != nullptr) work_.job()->stop(why);
  leave(exitFailed);
}

void Supervisor::advance(const Instant& now) {
  if (work_.job() != nullptr) contact_.dropNote();
  if (work_.job() == nullptr) stubbornNote_.drop();
  if (const auto note = contact_.takeNote(now)) complain(*note);
  if (const auto note = stubbornNote_.take(now)) complain(*note);
  if (readiness_) readiness_->act(now);
  if (probe_) probe_->act(now, work_.hasTerm());
  work_.act(now);
  lookAtStore(now);
  settle(now);
  if (!finished_ && shutdown_.untilQuit(now).value_or(unansweredTime).count() <= 0) quit();
  if (pausedAt_ && elapsedForHolder(*pausedAt_, now) >= restartDelay_.present()) competeAgain(now);
}

void Supervisor::leave(int code) {
  shutdown_.leave(code);
  if (readiness_) readiness_->stop();
  if (code != exitOk) quietLog_.open();
  contact_.stopWaiting();
  if (candidacy_) {
    candidacy_->stop();
  } else {
    finished_ = true;
  }
}

void Supervisor::pauseAndCompete(bool failed, nanoseconds ran, const std::string& why) {
  const nanoseconds delay = restartDelay_.afterEnd(failed, ran);
  logger_.log(failed ? LogLevel::warn : LogLevel::info,
              "gives up leadership, because " + why + "; competes again in " + secondsText(delay));
  candidacy_->stop();  // released at once; `stopped` begins the pause
}

/// The elector has stopped: ends the program, or pauses before it competes again.
void Supervisor::settle(const Instant& now) {
  if (!stopped_ || !work_.isOver()) return;
  if (*stopped_ == ReleaseResult::unknown || *stopped_ == ReleaseResult::notDrained) {
    logger_.log(LogLevel::warn, "the lease was not released (" + std::string{toString(*stopped_)} + "); it expires");
  }
  shutdown_.electorStopped(*stopped_);
  stopped_.reset();
  candidacy_.reset();
  if (shutdown_.isLeaving()) {
    finished_ = true;
  } else {
    pausedAt_ = now;
  }
}

void Supervisor::lookAtStore(const Instant& now) {
  const bool works = work_.job() != nullptr;
  if (!candidacy_ || stopped_ || (contact_.isMade() && works)) return;
  const LeaseStatus lease = candidacy_->status().lease;
  if (!contact_.isMade() && !shutdown_.isLeaving()) {
    const auto finding = contact_.look(now, lease);
    if (contact_.isMade()) startupLog_.open();
    if (finding) report(*finding);
  }
  if (works) return;
  if (const auto finding = contact_.judgeWait(now, lease)) {
    shutdown_.giveUpWaiting(now, lease.state != LeaseState::candidate && lease.state != LeaseState::idle);
    report(*finding);
  }
}

void Supervisor::report(const StoreContact::Finding& finding) {
  if (finding.cause) startupLog_.told(*finding.cause);
  if (finding.level == LogLevel::error) {
    complain(finding.message);
  } else {
    logger_.log(finding.level, finding.message);
  }
  if (finding.code) leave(*finding.code);
}

/// The store has not answered in time. No job was started, so nothing acts; but it is not known whether we have the
/// lease.
void Supervisor::quit() {
  channel_.forgoNotice();
  startupLog_.open();
  const bool mayLead = shutdown_.mayHaveAcquired();
  if (shutdown_.code() != exitOk || mayLead) quietLog_.open();
  if (!mayLead) exitAtOnce(shutdown_.code());
  complain("it is not known whether an attempt to acquire " + toString(group_.key()) +
           " arrived, because the store has not answered; if it did, no candidate is elected for " +
           durationText(group_.timing().duration()));
  exitAtOnce(exitUnknown);
}

/// Ready means: it competes. A standby is as ready as a leader, or an update that waits for one copy after the other
/// would never end. A store that is out of service is waited for, so this is no failed start either.
void Supervisor::tellService(const Instant& now) {
  if (!shutdown_.isLeaving() && contact_.isReady()) service_.ready();
  service_.status(serviceText());
  if (shutdown_.isNear()) {
    const auto& timing = group_.timing();
    const auto hook = options_.hooks.onRevoked.empty() ? milliseconds{0} : options_.hooks.timeout;
    service_.stopping(timing.drainTimeout() + timing.duration() + hook + endOfProcess);
  }
  service_.act(now);
}

/// In the words of `systemctl status`.
std::string Supervisor::serviceText() const {
  if (std::string text = work_.text(group_.name()); !text.empty()) return text;
  if (shutdown_.isNear()) return "stopping";
  if (pausedAt_) return "pausing after a job that has ended";
  return contact_.standbyText() + (readiness_ && !readiness_->isGood() ? ", not ready" : "");
}

}  // namespace tenure::cli
