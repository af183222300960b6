// What users ask of a session, from any thread.
#include "lock_session.hpp"

#include <algorithm>
#include <utility>

#include "lockcore/port/lock_errors.hpp"
#include "lockcore/runtime/user_code.hpp"

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

/// How long to yield if the options do not say it. A waiting client learns how often a lock is renewed, and then polls
/// at intervals of up to four times its `poll`, but not longer than its holders' heartbeat.
nanoseconds yieldOf(const LockSession::Request& request) {
  if (request.options.yieldFor) return *request.options.yieldFor;
  const nanoseconds heartbeat = request.timing.heartbeat();
  const nanoseconds seldom =
      request.options.poll ? std::min<nanoseconds>(*request.options.poll * 4, heartbeat) : heartbeat;
  return seldom + seldom / 4;
}

}  // namespace

LockSession::LockSession(std::shared_ptr<const CandidateContext> common, Request request,
                         std::shared_ptr<CallbackLane> lane, Acquired acquired, Ended ended)
    : common_{std::move(common)},
      request_{std::move(request)},
      lane_{std::move(lane)},
      madeAt_{common_->clock->now()},
      leaseMillis_{request_.timing.duration().count()},
      acquired_{std::move(acquired)},
      ended_{std::move(ended)},
      lease_{request_.lease},
      timing_{request_.timing} {}

/// The lock may still be held: its client was destroyed where nothing may wait, and the loop ended before the machine
/// could stop. The work is told all the same.
LockSession::~LockSession() {
  if (!isHere() || token().isNone() || stop_.requested()) return;
  common_->stopTokens->post([stop = stop_.source()]() mutable { stop.request_stop(); });
}

/// The driver calls back on the scheduler, where the session may already be gone; so it gets a weak reference.
void LockSession::begin(std::shared_ptr<Scheduler> scheduler, std::shared_ptr<const LeaseMemory> memory,
                        std::unique_ptr<RandomSource> random) {
  const AcquireOptions& wanted = request_.options;
  MachineOptions machine{request_.key, common_->candidate, request_.timing};
  machine.data = wanted.data.value_or("");
  machine.attributes = wanted.attributes;
  if (!wanted.replaceData) {
    machine.dataRule = DataRule::keepIfAny;
  } else if (wanted.data) {
    machine.dataRule = DataRule::replace;
  }
  machine.oneTerm =
      OneTerm{wanted.waitFor, wanted.mustExist, std::move(memory), wanted.maxConsecutiveHold, yieldOf(request_)};
  machine.manualHeartbeat = wanted.manualHeartbeat;
  machine.poll = wanted.poll;
  machine.displayClock = &wallClockMillisForDisplay;
  LeaseDriver::Options options{std::move(machine), common_->logger, [weak = weak_from_this()](const LeaseNotice& n) {
                                 if (const auto self = weak.lock()) self->take(n);
                               }};
  options.checksSchema = false;
  driver_ = std::make_shared<LeaseDriver>(std::move(options), common_->store, std::move(scheduler), std::move(random));
  cell_ = driver_->term();
  begun_.store(true);
}

void LockSession::start(std::optional<LivenessFile> livenessFile) {
  bool cancelled = false;
  {
    const std::lock_guard lock{mutex_};
    livenessFile_ = std::move(livenessFile);
    cancelled = cancelled_.has_value();
  }
  if (cancelled) return driver_->submit(event::Stop{});
  if (request_.options.waitFor == milliseconds{0}) return compete(nullptr);
  const auto begin = [weak = weak_from_this()](const std::shared_ptr<const LeaseMemory>& left) {
    if (const auto self = weak.lock()) self->compete(left);
  };
  auto line = std::make_unique<PlaceInLine>(common_->store, key(), begin);
  {
    const std::lock_guard lock{mutex_};
    if (!result_) line_.swap(line);  // otherwise it was cancelled meanwhile, and leaves here
  }
  if (competes_.load()) return;
  // The first in the line may depend on a loop that stands still. So a client competes from its place after this time;
  // a client whose wait is bounded makes one attempt at the end of the wait.
  const milliseconds longest = request_.timing.duration();
  driver_->schedule(std::min(request_.options.waitFor.value_or(longest), longest), [begin] { begin(nullptr); });
}

/// A second call has no effect.
void LockSession::compete(const std::shared_ptr<const LeaseMemory>& left) {
  std::optional<LivenessFile> livenessFile;
  {
    const std::lock_guard lock{mutex_};
    livenessFile = livenessFile_;
  }
  competes_.store(true);
  driver_->submit(event::Start{
      .livenessFile = std::move(livenessFile), .waited = elapsedForHolder(madeAt_, now()), .predecessor = left});
}

/// The work is told to stop before the release, so that a successor does not begin too early (I9). While the work ends,
/// the lease is renewed, for at most lease.drainTimeout.
void LockSession::close() {
  if (token().isNone()) cancel(LockErrc::cancelled);
  if (token().isNone()) return;  // otherwise it was won meanwhile, and its user may have it
  lose({RevokeReason::stopped, "its client was closed", token()});
  if (letGo_.load()) return;  // its release is under way
  driver_->submit(event::Stop{});
  const auto release = [self = shared_from_this()] {
    self->driver_->submit(event::Release{{}, self->request_.options.deleteOnRelease});
  };
  lane_->isIdle() ? release() : lane_->post(release);  // without callbacks it needs no thread
}

TermState LockSession::state() const noexcept {
  if (!isHere() || letGo_.load()) return {};
  const TermState now = cell_->load();
  return now.token == token() ? now : TermState{};
}

bool LockSession::isHeld() const noexcept {
  if (over_.load()) return false;
  const TermState known = state();  // read before the clock, so that a pause in between shows
  return known.leadsAt(now());
}

std::string LockSession::data() const {
  const std::lock_guard lock{mutex_};
  return data_;
}

milliseconds LockSession::lease() const noexcept { return milliseconds{leaseMillis_.load()}; }

std::optional<TermEnd> LockSession::loss() const {
  const std::lock_guard lock{mutex_};
  return loss_;
}

std::optional<ReleaseResult> LockSession::result() const {
  const std::lock_guard lock{mutex_};
  return result_;
}

bool LockSession::isEnding() const {
  const std::lock_guard lock{mutex_};
  if (letGo_.load() || cancelled_ || (!acquired_ && token().isNone())) return true;
  // It is lost for good, and nobody has to give it back. A lock that its user has to release is valid for so long.
  return loss_ && !state().validAt(now());
}

void LockSession::onLost(std::function<void(const TermEnd&)> callback) {
  std::optional<TermEnd> known;
  {
    const std::lock_guard lock{mutex_};
    known = loss_;
    if (!known) lostCallbacks_.push_back(callback);
  }
  if (known) tell("onLost", [callback = std::move(callback), loss = *known] { callback(loss); });
}

LockResult<void> LockSession::onExpiring(milliseconds before, std::function<void(nanoseconds)> callback) {
  const LeaseTiming now = timing();
  const milliseconds heartbeat = request_.options.manualHeartbeat ? milliseconds{0} : now.heartbeat();
  const milliseconds most = now.leadsFor() - heartbeat;
  if (before <= milliseconds{0} || before >= most) {
    LockError bad = error(LockErrc::invalidOptions, "cannot be watched this way");
    bad.faults = {{"before", std::to_string(before.count()) +
                                 "ms is out of range; allowed is more than 0 and less than " +
                                 std::to_string(most.count()) + "ms, which is left right before a heartbeat"}};
    bad.message += ": before: " + bad.faults.front().message;
    return bad;
  }
  const auto warning = std::make_shared<Warning>(Warning{before, std::move(callback)});
  const bool watched = driver_->schedule(nanoseconds{0}, [weak = weak_from_this(), warning] {
    const auto self = weak.lock();
    if (!self) return;
    self->warnings_.push_back(warning);
    self->watch(warning);
  });
  return watched ? LockResult<void>{} : lostError();
}

LeaseTiming LockSession::timing() const {
  const std::lock_guard lock{mutex_};
  return timing_;
}

/// Heartbeats follow a changed lease; the other options were set for the lock and stay.
void LockSession::renew(RenewOptions options, Renewed done, milliseconds longer) {
  OptionFaults faults;
  if (options.data) faults = payloadFaults(*common_->store, key(), *options.data, {});
  if (options.data && options.clearData) {
    faults.push_back({"data", "is given together with clearData; give one of them"});
  }
  std::unique_lock lock{mutex_};
  LeaseOptions lease = lease_;
  if (longer > milliseconds{0}) options.lease = timing_.duration() + longer;
  if (options.lease) {
    lease.duration = *options.lease;
    lease.heartbeat.reset();
  }
  auto timing = LeaseTiming::from(lease);
  if (timing.has_error()) {
    const OptionFaults more = timing.error();  // each call returns a copy: two calls give no range
    faults.insert(faults.end(), more.begin(), more.end());
  }
  const bool over = over_.load() || loss_ || result_;
  if (!faults.empty() || over) {
    lock.unlock();
    return done(faults.empty() ? LockResult<void>{lostError()} : LockResult<void>{invalidOptionsError(key(), faults)});
  }
  event::Renew change{++lastTicket_};
  if (options.lease) {
    lease_ = lease;
    timing_ = *timing;
    change.timing = *timing;
  }
  if (options.data || options.clearData) change.data = options.data.value_or("");
  changes_.push_back({change.ticket, change.data, options.lease, std::move(done)});
  driver_->submit(std::move(change));  // this posts; under the lock, so that tickets rise in the order of submission
}

bool LockSession::share() {
  const std::lock_guard lock{mutex_};
  if (over_.load() || result_) return false;
  ++handles_;
  return true;
}

bool LockSession::letGo(const ReleaseOptions& options, Released done) {
  std::unique_lock lock{mutex_};
  if (--handles_ > 0) return false;
  over_.store(true);
  letGo_.store(true);
  if (result_) {
    const ReleaseResult known = *result_;
    lock.unlock();
    if (done) done(known);
    return true;
  }
  if (done) releases_.push_back(std::move(done));
  lock.unlock();
  event::Release release{options.data, options.deleteRecord.value_or(request_.options.deleteOnRelease)};
  if (!release.data && options.clearData) release.data = "";
  // A write that the store can never accept would keep the lock until its lease ends.
  const OptionFaults faults = release.data ? payloadFaults(*common_->store, key(), *release.data, {}) : OptionFaults{};
  if (!faults.empty()) {
    log(LogLevel::error, "the lock is released without the data given with the release: " + faults.front().field +
                             ": " + faults.front().message);
    release.data.reset();
  }
  driver_->submit(std::move(release));
  failChanges(lostError());
  return true;
}

void LockSession::release(Lock& lock, Released done) {
  lock.released_.store(true);
  static_cast<void>(lock.session_->letGo({}, std::move(done)));
}

void LockSession::failChanges(const LockError& error) {
  std::vector<Change> failed;
  {
    const std::lock_guard lock{mutex_};
    failed.swap(changes_);
  }
  for (Change& change : failed) change.done(error);
}

LockError LockSession::error(LockErrc code, const std::string& what) const {
  return {code, "lock " + toString(key()) + ' ' + what};
}

LockError LockSession::lostError() const {
  const std::optional<TermEnd> lost = loss();
  if (!lost) return error(LockErrc::notHeld, "was released; acquire it again");
  LockError bad = error(
      LockErrc::lost, "was lost (" + std::string{toString(lost->reason)} + "): " + lost->detail + "; acquire it again");
  bad.reason = lost->reason;
  return bad;
}

}  // namespace tenure
