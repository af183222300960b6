#include <algorithm>
#include <cassert>
#include <utility>

#include "lease_machine_impl.hpp"
#include "lockcore/port/random_draws.hpp"

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

LeaseMachine::Impl::Impl(MachineOptions options, RandomSource& random)
    : options_{std::move(options)},
      random_{&random},
      poll_{options_.poll.value_or(options_.timing.heartbeat()), options_.timing.duration()} {}

LeaseActions LeaseMachine::Impl::step(const Instant& now, const LeaseEvent& event) {
  actions_.clear();
  checkDeadlines(now);
  std::visit([&](const auto& e) { handle(now, e); }, event);
  advance(now);
  lastStep_ = now;
  return std::exchange(actions_, {});
}

/// Before any event is looked at, so that a success which arrives late cannot revive a term (I2, I4).
void LeaseMachine::Impl::checkDeadlines(const Instant& now) {
  endLateTerm(now);
  giveUpOverdueRequest(now);
}

void LeaseMachine::Impl::endLateTerm(const Instant& now) {
  if (state_ == LeaseState::leading && !term_.leadsAt(now)) revokeExpired(now);
  if (state_ == LeaseState::draining && !term_.validAt(now)) {
    log(LogLevel::warn, "the lease ran out while the work was ending");
    endTerm(now, nanoseconds{0});
  }
}

/// A store that does not keep its own deadline must not hold a lease up: the request counts as unanswered.
void LeaseMachine::Impl::giveUpOverdueRequest(const Instant& now) {
  if (!inFlight_) return;
  const nanoseconds patience = inFlight_->timeout + inFlight_->timeout / 8 + milliseconds{5};
  if (elapsedForHolder(inFlight_->sentAt, now) < patience) return;
  const StoreError error{ErrorClass::transient, "the store did not answer within " +
                                                    std::to_string(inFlight_->timeout / milliseconds{1}) + " ms"};
  if (inFlight_->request == Request::read) {
    handle(now, event::ReadReply{inFlight_->attempt, error});
  } else {
    handle(now, event::WriteReply{inFlight_->attempt, Unknown{error}});
  }
}

void LeaseMachine::Impl::advance(const Instant& now) {
  switch (state_) {
    case LeaseState::candidate:
      return advanceCandidate(now);
    case LeaseState::leading:
    case LeaseState::draining:
      return advanceHolder(now);
    case LeaseState::releasing:
      return advanceRelease(now);
    case LeaseState::idle:
    case LeaseState::acquiring:
    case LeaseState::stopped:
      return;
  }
}

void LeaseMachine::Impl::handle(const Instant& now, const event::Start& event) {
  if (state_ != LeaseState::idle) return;
  if (event.beacon) beacon_ = std::make_unique<const Beacon>(*event.beacon);
  startedAt_ = now;
  waitedBefore_ = event.waited;
  if (options_.oneTerm && options_.oneTerm->memory) recall(*std::exchange(options_.oneTerm->memory, nullptr));
  if (options_.oneTerm && event.predecessor) succeed(now, *event.predecessor);
  becomeCandidate(now, nanoseconds{0});
  if (const nanoseconds owed = restOwed(now); owed > nanoseconds{0}) rest(now, owed);
  if (!event.sighting) return;
  const std::optional<LeaseRecord>& record = event.sighting->record;
  learnToken(std::max(event.sighting->tokenFloor, record ? record->token : FencingToken{}));
  observation_.adopt(*event.sighting);
  follow(observation_.heldByOther() ? record : std::nullopt);
  poll_.postpone(now, options_.timing.heartbeat());  // it was looked at just now
}

void LeaseMachine::Impl::handle(const Instant& now, const event::StepDown& event) {
  if (state_ == LeaseState::leading) beginDrain(now, RevokeReason::steppedDown, event.why);
}

void LeaseMachine::Impl::handle(const Instant& now, const event::Stop&) {
  if (stopping_ || state_ == LeaseState::stopped) return;
  stopping_ = true;
  switch (state_) {
    case LeaseState::idle:
      return finish(ReleaseResult::notHeld);
    case LeaseState::leading:
      return beginDrain(now, RevokeReason::stopped, "the elector was stopped");
    case LeaseState::candidate:
      drainFrom_ = now;  // the work of a lost term may still be running
      if (!pending_.empty()) beginRelease(now);
      return;
    case LeaseState::acquiring:  // the write is awaited first: it may win a lease that must be released
    case LeaseState::draining:   // goes on as before and ends there
    case LeaseState::releasing:
    case LeaseState::stopped:
      return;
  }
}

void LeaseMachine::Impl::handle(const Instant& now, const event::Release& event) {
  if (event.data) {
    if (!wanted_) wanted_ = std::make_unique<Wanted>();
    wanted_->data = event.data;
    hasPayload_ = true;
  }
  removes_ = event.removes;
  handle(now, event::Stop{});
  handle(now, event::WorkEnded{});
}

void LeaseMachine::Impl::handle(const Instant& now, const event::Renew& event) {
  if (state_ != LeaseState::leading) return;
  if (event.timing) options_.timing = *event.timing;
  if (!wanted_) wanted_ = std::make_unique<Wanted>();
  if (event.data) wanted_->data = event.data;
  hasPayload_ = hasPayload_ || event.data;
  wanted_->ticket = ticket_ = event.ticket;
  progressAt_ = now;
}

void LeaseMachine::Impl::handle(const Instant& now, const event::WorkEnded&) {
  // While it leads, callbacks that have returned do not end the term: the work may go on elsewhere until onRevoked.
  if (state_ == LeaseState::leading) return;
  workRunning_ = false;
  if (state_ == LeaseState::draining) beginRelease(now);
}

void LeaseMachine::Impl::handle(const Instant& now, const event::WorkFailed& event) {
  if (state_ == LeaseState::leading) beginDrain(now, RevokeReason::fatal, event.what);
}

void LeaseMachine::Impl::handle(const Instant& now, const event::WorkProgressed&) { progressAt_ = now; }

void LeaseMachine::Impl::handle(const Instant& /*now*/, const event::Wakeup&) {}

void LeaseMachine::Impl::handle(const Instant& now, const event::ReadReply& event) {
  if (!inFlight_ || inFlight_->attempt != event.attempt || inFlight_->request != Request::read) return;
  const bool hinted = inFlight_->hinted;
  const Instant askedAt = inFlight_->sentAt;
  inFlight_.reset();
  switch (state_) {
    case LeaseState::candidate:
      return candidateRead(now, event.outcome, hinted);
    case LeaseState::leading:
    case LeaseState::draining:
      readBack_ = false;
      if (!event.outcome) return renewalFailed(now, event.outcome.error());
      return judgeOwnRecord(now, askedAt, *event.outcome);
    case LeaseState::releasing:  // what the record is shows itself in the answer to the release, if there is one (I7)
      if (event.outcome && *event.outcome) learnToken((*event.outcome)->token);
      return;
    case LeaseState::idle:
    case LeaseState::acquiring:
    case LeaseState::stopped:
      return;
  }
}

void LeaseMachine::Impl::handle(const Instant& now, const event::WriteReply& event) {
  if (!inFlight_ || inFlight_->attempt != event.attempt || inFlight_->request == Request::read) return;
  const InFlight request = *std::exchange(inFlight_, std::nullopt);
  // Never in the record. A stream of them (connections that are refused) must not push out the version that is.
  if (std::holds_alternative<Rejected>(event.outcome)) sentVersions_[--nextSent_ % sentVersions_.size()] = {};
  switch (request.request) {
    case Request::acquire:
      return acquireAnswered(now, request, event.outcome);
    case Request::renew:
      return renewAnswered(now, request, event.outcome);
    case Request::release:
      return releaseAnswered(now, request, event.outcome);
    case Request::read:
      return;
  }
}

void LeaseMachine::Impl::handle(const Instant& /*now*/, const event::StoreHint& event) {
  hinted_ = hinted_ || state_ == LeaseState::candidate;
  const bool holds = state_ == LeaseState::leading || state_ == LeaseState::draining;
  lossHinted_ = lossHinted_ || (event.isLoss && holds && !options_.manualHeartbeat);
}

void LeaseMachine::Impl::handle(const Instant& now, const event::HolderProvenDead& event) {
  observation_.provenDead(now, event.beaconId);
}

/// Anybody who may write to a resource can make a report up, so it counts only within a step above what the store has
/// shown: not above other reports, which would walk up without an end.
void LeaseMachine::Impl::handle(const Instant& now, const event::TokenSeen& event) {
  if (state_ == LeaseState::stopped) return;
  const FencingToken believed{knownToken_.value() + maxReportedStep};
  if (event.token > std::min(believed, maxFencingToken)) return refuseReport(event.token);
  tokenFloor_ = std::max(tokenFloor_, event.token);
  if (state_ != LeaseState::leading || event.token <= term_.token) return;
  const bool again = std::exchange(endedByReport_, true);
  revokeLost(
      now, RevokeReason::lost,
      "a resource has seen the token " + toString(event.token) + ", higher than this term's " + toString(term_.token));
  if (again) restAfterReports(now);
}

/// A report mends the counter within one term. Where the next term ends by one too, something makes tokens up: one step
/// a lease is far too slow to bring the counter near its end.
void LeaseMachine::Impl::restAfterReports(const Instant& now) {
  if (state_ != LeaseState::candidate) return;
  log(LogLevel::error,
      "term after term is ended by a resource that reports a higher fencing token: find out who writes tokens there; "
      "the lease is left alone for " +
          std::to_string(options_.timing.duration().count()) + " ms");
  holdOff(now, options_.timing.duration());
}

void LeaseMachine::Impl::send(const Instant& now, Request request, Nanos timeout) {
  inFlight_ = InFlight{++lastAttempt_, request, now, timeout};
  inFlight_->hinted = std::exchange(hinted_, false);
  actions_.push_back(action::SendRead{lastAttempt_, timeout});
}

void LeaseMachine::Impl::sendWrite(const Instant& now, Request request, Nanos timeout,
                                   std::vector<RecordVersion> expected) {
  const RecordVersion version{uuid4(*random_)};
  const Right right{options_.timing.leadsFor(), options_.timing.validFor(), ticket_, options_.timing.duration()};
  inFlight_ = InFlight{++lastAttempt_, request, now, timeout, version, false, right};
  looked_ = false;
  sentVersions_[nextSent_++ % sentVersions_.size()] = packed(version).value_or(PackedVersion{});
  WriteRequest write{options_.key, WriteRequest::Purpose::renew, std::move(expected),
                     ownRecord(version, request == Request::release), FencingToken{}};
  if (request == Request::acquire) {
    write.purpose = WriteRequest::Purpose::acquire;
    write.record.data = options_.data;
    write.record.attributes = options_.attributes;
    write.dataRule = options_.dataRule;
    write.record.acquiredAtMillis = write.record.renewedAtMillis;
    write.record.token = FencingToken{};
    write.tokenFloor = tokenFloor_;
  } else if (request == Request::release) {
    write.purpose = WriteRequest::Purpose::release;
    write.removes = removes_;
  } else {
    write.lengthens = right.lease > statedLease_;
  }
  if (request != Request::acquire) carryWanted(write);
  actions_.push_back(action::SendWrite{lastAttempt_, std::move(write), timeout});
}

/// In each write until one is acknowledged: an earlier one that is in doubt may or may not have carried it.
void LeaseMachine::Impl::carryWanted(WriteRequest& write) const {
  if (!wanted_ || !wanted_->data) return;
  write.record.data = *wanted_->data;
  write.dataRule = DataRule::replace;
}

LeaseRecord LeaseMachine::Impl::ownRecord(RecordVersion version, bool isReleased) const {
  LeaseRecord record;
  record.holder = options_.holder;
  record.version = std::move(version);
  record.leaseDuration = options_.timing.duration();
  record.token = term_.token;
  record.released = isReleased;
  if (beacon_) record.beacon = *beacon_;
  record.acquiredAtMillis = acquiredAtMillis_;
  record.renewedAtMillis = options_.displayClock != nullptr ? options_.displayClock() : 0;
  return record;
}

std::vector<RecordVersion> LeaseMachine::Impl::ownVersions() const {
  std::vector<RecordVersion> versions;
  if (!version_.isNone()) versions.push_back(version_);
  const std::size_t named = std::min(pending_.size(), maxPending);
  for (auto p = pending_.end() - static_cast<std::ptrdiff_t>(named); p != pending_.end(); ++p) {
    versions.push_back(p->version);
  }
  return versions;
}

bool LeaseMachine::Impl::mustLook() const {
  const auto unseen = [](const Pending& p) { return !p.lookedFor; };
  return std::count_if(pending_.begin(), pending_.end(), unseen) >= static_cast<std::ptrdiff_t>(maxPending);
}

const LeaseMachine::Impl::Pending* LeaseMachine::Impl::findPending(const RecordVersion& version) const {
  const auto it =
      std::find_if(pending_.begin(), pending_.end(), [&](const Pending& p) { return p.version == version; });
  return it == pending_.end() ? nullptr : &*it;
}

bool LeaseMachine::Impl::wrote(const LeaseRecord& record) const {
  const auto version = packed(record.version);
  return version && isOwn(record) &&
         std::find(sentVersions_.begin(), sentVersions_.end(), *version) != sentVersions_.end();
}

/// What the counter says of a term of this candidate that it knows to be over.
bool LeaseMachine::Impl::leftByOwnTerm(const LeaseRecord& record) const {
  return record.vanished && !ownToken_.isNone() && record.token == ownToken_;
}

void LeaseMachine::Impl::publish(const TermState& term) {
  published_ = term;
  actions_.push_back(action::Publish{term});
}

void LeaseMachine::Impl::learnToken(FencingToken shown) {
  knownToken_ = std::max(knownToken_, shown);
  tokenFloor_ = std::max(tokenFloor_, shown);
}

/// Said once for each higher one: a resource may refuse every write of a leader.
void LeaseMachine::Impl::refuseReport(FencingToken token) {
  if (token <= refusedReport_) return;
  refusedReport_ = token;
  log(LogLevel::error,
      "a resource of lease " + toString(options_.key) + " reports the fencing token " + toString(token) +
          ", and the highest that the store has shown is " + toString(knownToken_) +
          ". Terms do not rise like that, so the report is not believed and the lease goes on, but that resource "
          "refuses this leader's writes: find out who wrote that token there, then put the resource's memory right "
          "with `tenure fence recover`");
}

void LeaseMachine::Impl::noteError(const Instant& now, const StoreError& error) {
  lastError_ = error;
  lastErrorAt_ = now;
}

void LeaseMachine::Impl::setLeader(const Instant& now, const std::optional<LeaderInfo>& leader) {
  const bool first = !leaderSeenAt_;
  leaderSeenAt_ = now;
  if (!first && leader_ == leader) return;
  leader_ = leader;
  actions_.push_back(action::LeaderChanged{leader});
}

std::optional<nanoseconds> LeaseMachine::Impl::untilWakeup(const Instant& now) const {
  std::optional<nanoseconds> until;
  const auto consider = [&](std::optional<nanoseconds> wait) {
    if (wait && (!until || *wait < *until)) until = wait;
  };
  if (inFlight_) {
    consider(inFlight_->timeout + inFlight_->timeout / 8 + milliseconds{5} - elapsedForHolder(inFlight_->sentAt, now));
  }
  const bool idleHands = !inFlight_;
  switch (state_) {
    case LeaseState::candidate:
      if (stopping_) {
        consider(options_.timing.drainTimeout() - elapsedForHolder(drainFrom_, now));
      } else if (idleHands) {
        consider(hinted_ ? nanoseconds{0} : poll_.untilDue(now));
        if (!workRunning_ && !readFirst_ && !options_.observesOnly) {
          const nanoseconds cool = cooldown_ - elapsedForChallenger(cooldownFrom_, now);
          if (const auto free = observation_.untilFree(now, politeness_)) consider(std::max(*free, cool));
        }
      }
      // Once the wait is over something else is awaited: an answer, or that a free lease may be taken.
      if (!stopping_ && looked_ && options_.oneTerm && options_.oneTerm->patience &&
          patienceLeft(lastStep_) > nanoseconds{0}) {
        consider(patienceLeft(now));
      }
      break;
    case LeaseState::leading:
    case LeaseState::draining:
      consider(rightLeft(now));
      if (idleHands && renewalFits(now)) consider(renewDueIn(now));
      if (state_ == LeaseState::draining) {
        consider(options_.timing.drainTimeout() - elapsedForHolder(drainFrom_, now));
      }
      break;
    case LeaseState::releasing:
      if (idleHands) consider(retryAfter_ - elapsedForHolder(retryFrom_, now));
      break;
    case LeaseState::idle:
    case LeaseState::acquiring:
    case LeaseState::stopped:
      break;
  }
  if (until) until = std::max(*until, nanoseconds{0});
  return until;
}

LeaseMachine::LeaseMachine(MachineOptions options, RandomSource& random)
    : impl_{std::make_unique<Impl>(std::move(options), random)} {}
LeaseMachine::~LeaseMachine() = default;
LeaseMachine::LeaseMachine(LeaseMachine&&) noexcept = default;
LeaseMachine& LeaseMachine::operator=(LeaseMachine&&) noexcept = default;

LeaseActions LeaseMachine::step(const Instant& now, const LeaseEvent& event) { return impl_->step(now, event); }
std::optional<nanoseconds> LeaseMachine::untilWakeup(const Instant& now) const { return impl_->untilWakeup(now); }
bool LeaseMachine::acquisitionOpen() const noexcept {
  const LeaseState state = impl_->state_;
  if (state == LeaseState::idle || state == LeaseState::stopped) return false;
  return state != LeaseState::candidate || !impl_->pending_.empty();
}
const LeaseKey& LeaseMachine::key() const noexcept { return impl_->options_.key; }
LeaseState LeaseMachine::state() const noexcept { return impl_->state_; }
TermState LeaseMachine::term() const noexcept { return impl_->published_; }
bool LeaseMachine::workRunning() const noexcept { return impl_->workRunning_; }
bool LeaseMachine::inDoubt() const noexcept { return impl_->doubt_; }
const std::optional<LeaderInfo>& LeaseMachine::leader() const noexcept { return impl_->leader_; }
std::optional<Instant> LeaseMachine::leaderSeenAt() const noexcept { return impl_->leaderSeenAt_; }
const std::optional<StoreError>& LeaseMachine::lastError() const noexcept { return impl_->lastError_; }
std::optional<Instant> LeaseMachine::lastErrorAt() const noexcept { return impl_->lastErrorAt_; }
std::uint64_t LeaseMachine::terms() const noexcept { return impl_->terms_; }
const HeartbeatLag& LeaseMachine::heartbeatLag() const noexcept { return impl_->lag_; }

}  // namespace tenure
