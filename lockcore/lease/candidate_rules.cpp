// The rules of a candidate: observe, wait until the lease is free by one's own clock, take it by a conditional write.
#include <algorithm>

#include "lease_machine_impl.hpp"
#include "lockcore/port/random_draws.hpp"

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

/// More unresolved acquisitions than this are not remembered; a forgotten one that lands late is found as a record of
/// our own and taken over anew.
constexpr std::size_t maxPendingAcquires = 4;
constexpr int maxLostRaces = 6;
/// Of one request of somebody who waits for a lock: a store that answers later than this is asked again.
constexpr milliseconds longestRequest{5'000};

}  // namespace

void LeaseMachine::Impl::becomeCandidate(const Instant& now, Nanos cooldown) {
  state_ = LeaseState::candidate;
  cooldownFrom_ = now;
  cooldown_ = cooldown;
  drawPoliteness();
  poll_.hurry(now);
}

/// Two works of one process must not overlap either, so a candidate whose last work still runs only watches.
bool LeaseMachine::Impl::mayCompete(const Instant& now) const {
  return mayLead() && elapsedForChallenger(cooldownFrom_, now) >= cooldown_;
}

void LeaseMachine::Impl::advanceCandidate(const Instant& now) {
  if (stopping_) {
    if (!workRunning_) return finish(nothingToRelease());
    if (elapsedForHolder(drainFrom_, now) >= options_.timing.drainTimeout()) finish(ReleaseResult::notDrained);
    return;
  }
  if (const auto reason = reasonToGiveUp(now)) return giveUp(now, *reason);
  if (inFlight_) return;
  const auto free = observation_.untilFree(now, politeness_);
  if (mayCompete(now) && !readFirst_ && free && *free <= nanoseconds{0}) return sendAcquire(now);
  if (hinted_ || poll_.untilDue(now) <= nanoseconds{0}) {
    send(now, Request::read, limited(options_.timing.heartbeat()));
  }
}

nanoseconds LeaseMachine::Impl::limited(Nanos timeout) const {
  return options_.oneTerm ? std::min<nanoseconds>(timeout, longestRequest) : timeout;
}

/// Small random delays keep candidates from writing all at once; the window grows with each lost race, so that a crowd
/// spreads itself out while a handful stays quick.
void LeaseMachine::Impl::drawPoliteness() {
  politeness_ = nanoseconds{options_.timing.duration()} / maxPriority * options_.priority;
  // Whoever comes to a lock and finds it free has most likely no rivals.
  if (!options_.oneTerm || waited_) politeness_ += raceJitter();
}

nanoseconds LeaseMachine::Impl::raceJitter() {
  const nanoseconds lease = options_.timing.duration();
  const nanoseconds base = std::min<nanoseconds>(lease / 1000, milliseconds{5});
  return uniform(*random_, std::min(base * (1 << lostRaces_), lease / 20));
}

void LeaseMachine::Impl::sendAcquire(const Instant& now) {
  state_ = LeaseState::acquiring;
  // A right that is won later than this is too short to be worth having: half of it is left for the first renewal.
  sendWrite(now, Request::acquire, limited(options_.timing.leadsFor() / 2), observation_.expected());
  inFlight_->creates = observation_.absent();
}

void LeaseMachine::Impl::candidateRead(const Instant& now, const ReadOutcome& outcome, bool hinted) {
  looked_ = true;
  troubled_ = outcome.has_error();
  if (outcome) {
    readFirst_ = false;
    return observe(now, *outcome, hinted);
  }
  noteError(now, outcome.error());
  poll_.failed(now, outcome.error().errorClass, *random_);
  if (outcome.error().errorClass == ErrorClass::corrupt) observation_.distrust();  // fail closed (I11)
}

void LeaseMachine::Impl::observe(const Instant& now, const std::optional<LeaseRecord>& record, bool hinted) {
  if (record) learnToken(record->token);
  if (record && isOwn(*record) && adoptOwnAcquire(now, *record)) return;
  asReleased_ = false;
  if (options_.oneTerm) keepPayload(record);
  const bool news = observation_.confirm(now, record, record && (wrote(*record) || leftByOwnTerm(*record)));
  waited_ = waited_ || observation_.heldByOther();
  if (record && leader_ && (record->holder != leader_->holder || record->token != leader_->token)) poll_.meetHolder();
  poll_.answered(now, news, hinted);
  if (news) {
    if (observation_.heldByOther() && lostRaces_ > 0) --lostRaces_;
    drawPoliteness();
  }
  const bool held = observation_.heldByOther();
  setLeader(now, held ? std::optional{LeaderInfo{record->holder, record->token, false}} : std::nullopt);
  follow(held ? record : std::nullopt);
}

void LeaseMachine::Impl::follow(const std::optional<LeaseRecord>& held) {
  const bool keepsBeacon = held && held->beacon;
  const std::string beacon = keepsBeacon ? held->beacon->id : std::string{};
  if (beacon == followedBeacon_) return;
  followedBeacon_ = beacon;
  actions_.push_back(action::FollowHolder{keepsBeacon ? held : std::nullopt});
}

void LeaseMachine::Impl::acquireAnswered(const Instant& now, const InFlight& request, const WriteOutcome& outcome) {
  state_ = LeaseState::candidate;
  const auto* conflict = std::get_if<Conflict>(&outcome);
  // What became of the write is still to be looked at, if it may have won, or if nobody knows who did.
  looked_ = std::holds_alternative<Rejected>(outcome) || (conflict != nullptr && conflict->current);
  troubled_ = std::holds_alternative<Rejected>(outcome);
  doubtsAfterWait_ += !looked_ && waitIsOver(now) ? 1 : 0;
  if (const auto* applied = std::get_if<Applied>(&outcome)) {
    acquired(now, request, *applied);
  } else if (conflict != nullptr) {
    acquireLost(now, request, *conflict);
  } else if (const auto* rejected = std::get_if<Rejected>(&outcome)) {
    acquireFailed(now, rejected->error);
    poll_.postpone(now, cooldown_);
  } else {
    rememberAcquire(request);
    acquireFailed(now, std::get<Unknown>(outcome).error);
    poll_.hurry(now);  // it may have won: what is there now is read back before anything else
  }
  if (stopping_ && state_ == LeaseState::candidate && !pending_.empty()) beginRelease(now);
}

/// I7 is checked, not believed: a term whose token does not rise would be fenced out, or worse, would not fence others.
/// It also happens without a fault, if a resource told of a higher token while the write was under way.
void LeaseMachine::Impl::acquired(const Instant& now, const InFlight& request, const Applied& applied) {
  if (!applied.warning.empty()) log(LogLevel::warn, applied.warning);
  knownToken_ = std::max(knownToken_, applied.token);
  if (applied.token > tokenFloor_ || stopping_) {
    return becomeLeader(now, {request.version, request.sentAt, request.right}, applied.token);
  }
  const std::string why = "the store gave this term the fencing token " + toString(applied.token) + ", but " +
                          toString(tokenFloor_) + " was seen before; the lease is acquired again for a higher one";
  log(LogLevel::warn, why);
  InFlight forNobody = request;  // is released, if the candidacy ends before the lease is won again
  forNobody.creates = false;
  rememberAcquire(forNobody);
  pending_.back().forNobody = true;
  acquireFailed(now, {ErrorClass::transient, why});
  poll_.hurry(now);
}

void LeaseMachine::Impl::rememberAcquire(const InFlight& request) {
  if (pending_.size() >= maxPendingAcquires) pending_.erase(pending_.begin());
  remember(request);
  openCreations_ += request.creates ? 1 : 0;
}

/// What was observed so far still counts (I3), but a read comes first, and a backoff: reads that succeed say nothing of
/// a store that takes no writes.
void LeaseMachine::Impl::acquireFailed(const Instant& now, const StoreError& error) {
  noteError(now, error);
  readFirst_ = true;
  const nanoseconds lease = options_.timing.duration();
  holdOff(now, backoff(acquireFailures_, error.errorClass, options_.timing.heartbeat(), lease, *random_));
  acquireFailures_ = std::min(acquireFailures_ + 1, maxFailures);
}

void LeaseMachine::Impl::holdOff(const Instant& now, Nanos wait) {
  cooldownFrom_ = now;
  cooldown_ = wait;
}

void LeaseMachine::Impl::acquireLost(const Instant& now, const InFlight& request, const Conflict& conflict) {
  if (conflict.current) {
    const std::optional<LeaseRecord>& current = *conflict.current;
    const bool itself = current && isOwn(*current) && current->version == request.version && !current->released;
    if (itself) return acquired(now, request, {current->token});
    if (!asReleased_) loseRace(now);
    return observe(now, current, false);
  }
  if (!asReleased_) loseRace(now);
  rememberAcquire(request);
  readFirst_ = true;
  poll_.hurry(now);
}

/// The wait after it keeps a store whose condition never holds from being asked without a pause. What was tried without
/// a look (asReleased_) was no race: the conflict is the look, and the wait begins with the next one.
void LeaseMachine::Impl::loseRace(const Instant& now) {
  acquireFailures_ = 0;
  lostRaces_ = std::min(lostRaces_ + 1, maxLostRaces);
  holdOff(now, raceJitter());
}

/// The record shows an acquisition of ours whose answer was lost: it counts from before that request was sent (I8).
bool LeaseMachine::Impl::adoptOwnAcquire(const Instant& now, const LeaseRecord& record) {
  const Pending* found = findPending(record.version);
  if (found == nullptr || found->forNobody || record.released) return false;
  const Pending won = *found;
  const TermState term{won.sentAt, won.right.leadsFor, won.right.validFor, record.token};
  if (!term.leadsAt(now) || !mayLead() || record.token < tokenFloor_) return false;
  becomeLeader(now, won, record.token);
  return true;
}

}  // namespace tenure
