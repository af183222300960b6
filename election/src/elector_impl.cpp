#include "elector_impl.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/lease_store.hpp>

#include "leader_document.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "lockcore/runtime/user_code.hpp"

namespace tenure {

using std::chrono::nanoseconds;

namespace {

std::string candidateText(const ElectorPart& part, const Group& group, RandomSource& random) {
  return part.candidate.empty() ? newCandidate(group.options().candidate.id, random) : part.candidate;
}

std::unique_ptr<RandomSource> orSystem(std::unique_ptr<RandomSource> random) {
  return random ? std::move(random) : std::make_unique<SystemRandom>();
}

}  // namespace

ElectorImpl::ElectorImpl(Group group, Listener listener, Runtime runtime, const std::shared_ptr<Scheduler>& scheduler,
                         ElectorPart part)
    : group_{std::move(group)},
      random_{orSystem(std::move(runtime.random))},
      part_{std::move(part)},
      key_{part_.key.value_or(group_.key())},
      context_{CandidateContext::make(group_.store(), scheduler, group_.logger(),
                                      candidateText(part_, group_, *random_), std::move(runtime.executor),
                                      group_.name())},
      termLane_{std::make_shared<CallbackLane>(context_->executor)},
      noticeLane_{std::make_shared<CallbackLane>(context_->executor)},
      listeners_{[this](const std::string& failure) { log(LogLevel::error, failure); }} {
  listeners_.add(std::move(listener));
}

void ElectorImpl::stepDown(std::string why, std::string successor) {
  if (!successor.empty()) {
    const auto fault = faultOfCandidateName(successor);
    if (fault) throw std::invalid_argument{"stepDown: the successor's name " + *fault};
    if (successor == nameOf(candidate())) {
      throw std::invalid_argument{"stepDown: " + successor +
                                  " is this candidate's own name, and it does not compete for one lease after it has "
                                  "stepped down; name another candidate"};
    }
  }
  driver_->submit(event::StepDown{std::move(why), std::move(successor)});
}

/// A term may still be led: the handle was destroyed where nothing may wait, and the loop ended before the machine
/// could stop. Its work is told all the same. No callback begins, because the executor may be gone with the loop.
ElectorImpl::~ElectorImpl() {
  if (const auto term = takeTerm()) context_->stopTokens->post([term] { term->stop.fire(); });
  if (driver_) closeDriver();
}

std::shared_ptr<ElectorImpl> ElectorImpl::make(Group group, Listener listener, Runtime runtime, ElectorPart part) {
  std::shared_ptr<Scheduler> scheduler = runtime.scheduler ? std::move(runtime.scheduler) : sharedScheduler();
  auto impl = std::make_shared<ElectorImpl>(std::move(group), std::move(listener), std::move(runtime), scheduler,
                                            std::move(part));
  impl->connect(std::move(scheduler));
  return impl;
}

/// The driver calls back on the scheduler, where the elector may already be gone. So it gets a weak reference, which
/// exists only after construction.
void ElectorImpl::connect(std::shared_ptr<Scheduler> scheduler) {
  MachineOptions machine{key_, candidate(), group_.timing()};
  machine.priority = group_.options().candidate.priority;
  machine.data = part_.data;
  machine.observesOnly = observes();
  machine.address = group_.options().candidate.address;
  machine.statementIn = part_.data.empty() ? &statementIn : nullptr;
  machine.displayClock = &wallClockMillisForDisplay;
  LeaseDriver::Options options{std::move(machine), context_->logger,
                               [weak = weak_from_this()](const LeaseNotice& notice) {
                                 if (const auto self = weak.lock()) self->take(notice);
                               }};
  options.checksSchema = !observes();  // that would create what is missing
  driver_ = std::make_shared<LeaseDriver>(std::move(options), group_.store(), std::move(scheduler), std::move(random_));
  cell_ = driver_->term();
  if (group_.options().candidate.reclaimAfter) reclaims_ = reclaimRequests();
}

std::shared_ptr<ReclaimRequests> ElectorImpl::reclaimRequests() {
  const CandidateOptions& own = group_.options().candidate;
  const LeaseTiming& timing = group_.timing();
  const Reclaim rule{own.priority, *own.reclaimAfter, 2 * timing.duration()};
  const auto log = [logger = context_->logger, name = toString(key_)](LogLevel level, const std::string& line) {
    logger.log(level, name + ": " + line);
  };
  const auto now = [clock = context_->clock] { return clock->now(); };
  return std::make_shared<ReclaimRequests>(ReclaimRequests::Options{key_, rule, timing.heartbeat(), log, now},
                                           group_.store(), driver_);
}

void ElectorImpl::addListener(Listener listener) {
  const std::lock_guard lock{mutex_};
  if (phase_ != Phase::fresh) throw std::logic_error("LeaderElector: listeners are added before start()");
  listeners_.add(std::move(listener));
}

void ElectorImpl::start(std::optional<LeaseSighting> sighting) {
  FencingToken newest;
  {
    const std::lock_guard lock{mutex_};
    if (documents_) newest = documents_->left(key_).last;
    if (phase_ == Phase::stopping)
      throw std::logic_error("LeaderElector: it was stopped; make a new one to start again");
    if (std::exchange(phase_, Phase::started) == Phase::started) return;
  }
  const std::string store = nameOfStore(*group_.store());
  log(LogLevel::info, personOf(candidate()) + (observes() ? " follows the leader on " : " competes on ") + store,
      LogEvent::candidateStarted, {{"candidate", candidate()}, {"store", store}});
  if (observes()) return driver_->submit(event::Start{{}, std::move(sighting)});  // others need not see its end
  const auto onScheduler = [this](std::function<void()> task) {
    static_cast<void>(driver_->schedule(nanoseconds{0}, std::move(task)));
  };
  context_->findLivenessFile(
      {group_.name(), group_.timing().duration(), onScheduler},
      [self = shared_from_this(), sighting = std::move(sighting), newest](std::optional<LivenessFile> livenessFile) {
        self->driver_->submit(event::Start{std::move(livenessFile), sighting, {}, {}, newest});
      });
}

void ElectorImpl::requestStop(StopDone done) {
  Phase before{};
  {
    const std::lock_guard lock{mutex_};
    before = std::exchange(phase_, Phase::stopping);
    if (before == Phase::fresh) result_ = ReleaseResult::notHeld;  // nothing was begun
    if (done) stopWaits_.push_back(std::move(done));
  }
  before == Phase::started ? driver_->submit(event::Stop{}) : answerStops();
}

void ElectorImpl::answerStops(std::optional<ReleaseResult> orElse) {
  std::vector<StopDone> waiting;
  {
    const std::lock_guard lock{mutex_};
    if (result_) orElse = result_;
    if (orElse) waiting.swap(stopWaits_);
  }
  if (orElse) answerStop(std::move(waiting), *orElse, *noticeLane_);
}

ReleaseResult ElectorImpl::stop() {
  const Patience patience = patienceOfStop(group_.timing());
  requestStop();
  if (mustNotBlock()) return ReleaseResult::unknown;
  return awaitStopped(patience).value_or(ReleaseResult::unknown);
}

std::optional<ReleaseResult> ElectorImpl::awaitStopped(const Patience& patience) {
  std::unique_lock lock{mutex_};
  stopped_.wait_for(lock, patience.left(), [this] { return result_ && !answering_; });
  const std::optional<ReleaseResult> result = result_;
  lock.unlock();
  // The last notices are delivered before stop() returns. Work that outlasts the drain timeout is not waited for.
  noticeLane_->waitIdle(std::min<nanoseconds>(group_.timing().duration(), patience.left()));
  return result;
}

void ElectorImpl::abandon() { abandon(patienceOfStop(group_.timing())); }

void ElectorImpl::abandon(const Patience& patience) {
  mustNotBlock() ? leave(patience) : abandonAll({shared_from_this()}, patience);
}

void ElectorImpl::abandonAll(const std::vector<std::shared_ptr<ElectorImpl>>& electors, const Patience& patience) {
  bool inTime = true;
  for (const auto& elector : electors) inTime = elector->endWithin(patience) && inTime;
  const Patience rest = inTime ? patience : Patience{std::chrono::seconds{1}};
  for (const auto& elector : electors) elector->awaitCallbacks(rest);
}

/// False: its work is asked to stop only now, because the scheduler stands still (a loop of the user that was stopped
/// first), so that the machine could not end the term.
bool ElectorImpl::endWithin(const Patience& patience) {
  requestStop();
  if (awaitStopped(patience)) return true;
  const auto term = takeTerm();
  if (term) {
    endTerm(term, {RevokeReason::stopped, "the elector was destroyed while its scheduler did not run", term->token});
  }
  answerStops(ReleaseResult::unknown);
  return !term;
}

/// What is left to do is done on the scheduler, which keeps this until then.
void ElectorImpl::leave(const Patience& patience) {
  listeners_.muteAfter(patience);
  bool endsLater = false;
  {
    const std::lock_guard lock{mutex_};
    endsLater = !result_ && phase_ != Phase::fresh;
    abandoned_ = endsLater;
  }
  if (endsLater) keep(shared_from_this(), patience);
  requestStop();
  if (!endsLater) closeDriver();
}

/// Afterwards no callback begins.
void ElectorImpl::awaitCallbacks(const Patience& patience) {
  std::shared_ptr<TermHandle> term;
  bool ended = false;
  {
    const std::lock_guard lock{mutex_};
    term = endedLast_;
    ended = result_.has_value();
  }
  termLane_->waitIdle(patience.left());
  if (term) term->stop.awaitCallbacks(patience.left());
  noticeLane_->waitIdle(patience.left());
  closeDriver();  // a library thread may keep this for a moment; the user's scheduler may be gone by then
  if (!listeners_.mute()) return log(LogLevel::error, "the elector is destroyed while a callback of it is running");
  if (ended) listeners_.clear();  // here and now, because a library thread may hold the last reference to this
}

void ElectorImpl::closeDriver() {
  driver_->close();
  std::shared_ptr<DocumentWrites> documents;
  {
    const std::lock_guard lock{mutex_};
    documents = documents_;
  }
  if (documents) documents->close();
}

ElectorStatus ElectorImpl::statusWithoutLease() const {
  ElectorStatus status{group_.name(), candidate(), {}};
  const TermState state = termState();
  const Instant at = now();  // read after the state, so that a pause in between shows
  if (state.leadsAt(at)) status.fencingToken = state.token;
  status.remaining = state.remainingAt(at);
  return status;
}

ElectorStatus ElectorImpl::status() const {
  ElectorStatus status = statusWithoutLease();
  status.store = nameOfStore(*group_.store());
  status.lease = driver_->status();
  return status;
}

}  // namespace tenure
