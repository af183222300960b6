// The rules of a candidacy that ends by itself: when it gives up, and what the next one of the same key remembers.
#include <algorithm>

#include "lease_machine_impl.hpp"

namespace tenure {

using std::chrono::nanoseconds;

namespace {

/// Once the wait is over: the acquisition that was under way, and one more.
constexpr int mostDoubtsAfterWait = 2;

}  // namespace

std::string_view toString(GiveUpReason reason) noexcept {
  switch (reason) {
    case GiveUpReason::held:
      return "held";
    case GiveUpReason::unavailable:
      return "unavailable";
    case GiveUpReason::missing:
      return "missing";
  }
  return "invalid";
}

void LeaseMachine::Impl::recall(const LeaseMemory& memory) {
  observation_ = memory.observation;
  recallTokens(memory);
  std::copy(memory.sentVersions.begin(), memory.sentVersions.end(), sentVersions_.begin());
  nextSent_ = memory.sentVersions.size();
  // A record that was removed since is looked for before one is made.
  asReleased_ = memory.asReleased && !(options_.oneTerm->mustExist && observation_.absent());
  readFirst_ = !asReleased_;
  joinTurn(memory);
}

void LeaseMachine::Impl::recallTokens(const LeaseMemory& memory) {
  learnToken(memory.tokens.known);
  tokenFloor_ = std::max(tokenFloor_, memory.tokens.floor);
  ownToken_ = std::max(ownToken_, memory.tokens.own);
}

/// What this candidate remembers is older than the predecessor's term. A version that was released cannot come back to
/// life, so that the condition on it proves that nobody was in between (I1), however late the turn comes.
void LeaseMachine::Impl::succeed(const Instant& now, const LeaseMemory& predecessor) {
  recallTokens(predecessor);
  asReleased_ = predecessor.asReleased && observation_.adoptReleased(now, predecessor.observation);
  readFirst_ = !asReleased_;
  joinTurn(predecessor);
}

/// This candidate and its predecessor in the line are of one process.
void LeaseMachine::Impl::joinTurn(const LeaseMemory& memory) {
  if (!options_.oneTerm->turn || !memory.turn) return;
  if (!turn_ || memory.turn->token > turn_->token) turn_ = memory.turn;
}

/// What is left of the time for which this process leaves the lease to others. Counted from the end of its last term:
/// who comes back later than that owes nothing. It never makes a bounded wait miss its only chance.
nanoseconds LeaseMachine::Impl::restOwed(const Instant& now) const {
  if (!turn_ || elapsedForHolder(turn_->began, turn_->left) < *options_.oneTerm->turn) return nanoseconds{0};
  const nanoseconds left = options_.oneTerm->rest - elapsedForHolder(turn_->left, now);
  return options_.oneTerm->patience ? std::min(left, patienceLeft(now)) : left;
}

/// What was left may be somebody else's by then: a look is cheaper than a write that is refused.
void LeaseMachine::Impl::rest(const Instant& now, Nanos length) {
  asReleased_ = false;
  readFirst_ = true;
  holdOff(now, length);
  poll_.postpone(now, length);
}

/// A term was won. Its token tells whether somebody had the lease since the last one of this process.
void LeaseMachine::Impl::beginTurn(const Instant& now, FencingToken token) {
  if (!options_.oneTerm || !options_.oneTerm->turn) return;
  const bool goesOn =
      turn_ && turn_->token.next() == token && elapsedForHolder(turn_->left, now) < options_.oneTerm->rest;
  turn_ = std::make_shared<const LeaseTurn>(LeaseTurn{goesOn ? turn_->began : now, now, token});
}

void LeaseMachine::Impl::endTurn(const Instant& now) {
  if (turn_ && turn_->token == term_.token) {
    turn_ = std::make_shared<const LeaseTurn>(LeaseTurn{turn_->began, now, turn_->token});
  }
}

std::shared_ptr<const LeaseMemory> LeaseMachine::Impl::memory() const {
  std::vector<PackedVersion> sent;
  for (std::size_t i = 0; i < sentVersions_.size(); ++i) {  // oldest first
    const PackedVersion& version = sentVersions_.at((nextSent_ + i) % sentVersions_.size());
    if (version != PackedVersion{}) sent.push_back(version);
  }
  return std::make_shared<const LeaseMemory>(observation_, LeaseMemory::Tokens{knownToken_, tokenFloor_, ownToken_},
                                             std::move(sent), asReleased_, turn_);
}

nanoseconds LeaseMachine::Impl::patienceLeft(const Instant& now) const {
  return *options_.oneTerm->patience - waitedBefore_ - elapsedForHolder(startedAt_, now);
}

bool LeaseMachine::Impl::waitIsOver(const Instant& now) const {
  return options_.oneTerm && options_.oneTerm->patience && patienceLeft(now) <= nanoseconds{0};
}

/// A lease that is free but for politeness is still taken: whoever looks once must not miss it by a millisecond. A
/// store that tells of a free lease and answers no acquisition would be asked for ever.
std::optional<GiveUpReason> LeaseMachine::Impl::reasonToGiveUp(const Instant& now) const {
  if (!options_.oneTerm || !looked_) return std::nullopt;
  if (options_.oneTerm->mustExist && observation_.absent()) return GiveUpReason::missing;
  if (!waitIsOver(now)) return std::nullopt;
  if (troubled_) return GiveUpReason::unavailable;
  const auto free = observation_.untilFree(now, nanoseconds{0});
  const bool isFree = free && *free <= nanoseconds{0};
  if (!isFree) return GiveUpReason::held;
  return doubtsAfterWait_ < mostDoubtsAfterWait ? std::nullopt : std::optional{GiveUpReason::unavailable};
}

/// An acquisition that nobody answered may still arrive, and is released then.
void LeaseMachine::Impl::giveUp(const Instant& now, GiveUpReason reason) {
  const bool unavailable = reason == GiveUpReason::unavailable;
  actions_.push_back(
      action::GaveUp{reason, observation_.holderSeen(now), unavailable ? lastError_ : std::nullopt, !pending_.empty()});
  stopping_ = true;
  inFlight_.reset();
  if (pending_.empty()) return finish(nothingToRelease());
  beginRelease(now);
  advanceRelease(now);
}

void LeaseMachine::Impl::keepPayload(const std::optional<LeaseRecord>& record) {
  payload_.reset();
  if (!record || (record->data.empty() && record->attributes.empty())) return;
  payload_ = std::make_unique<const LeasePayload>(LeasePayload{record->data, record->attributes});
}

/// What the record has after the acquisition. It was conditioned on the version that was seen with `payload_`.
std::shared_ptr<const LeasePayload> LeaseMachine::Impl::takePayload() {
  LeasePayload now;
  now.data = mergedData(options_.dataRule, options_.data, payload_ ? &payload_->data : nullptr);
  now.attributes = options_.attributes.empty() && payload_ ? payload_->attributes : options_.attributes;
  payload_.reset();
  hasPayload_ = now != LeasePayload{};
  return std::make_shared<const LeasePayload>(std::move(now));
}

}  // namespace tenure
