#include "candidacy.hpp"

#include <algorithm>

namespace tenure {

using std::chrono::nanoseconds;

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

void Candidacy::start(const Instant& now, nanoseconds waited) noexcept {
  startedAt_ = now;
  waitedBefore_ = waited;
}

nanoseconds Candidacy::patienceLeft(const OneTerm& rules, const Instant& now) const {
  return *rules.patience - waitedBefore_ - elapsedForHolder(startedAt_, now);
}

bool Candidacy::waitIsOver(const OneTerm& rules, const Instant& now) const {
  return rules.patience && patienceLeft(rules, now) <= nanoseconds{0};
}

void Candidacy::joinTurn(const OneTerm& rules, const LeaseMemory& memory) {
  if (!rules.maxConsecutiveHold || !memory.turn) return;
  if (!turn_ || memory.turn->token > turn_->token) turn_ = memory.turn;
}

void Candidacy::beginTurn(const OneTerm& rules, const Instant& now, FencingToken token, FencingToken before) {
  if (!rules.maxConsecutiveHold) return;
  const bool own = turn_ && (turn_->token == before || turn_->token.next() == token);
  const bool goesOn = own && elapsedForHolder(turn_->left, now) < rules.yieldFor;
  turn_ = std::make_shared<const LeaseTurn>(LeaseTurn{goesOn ? turn_->began : now, now, token});
}

void Candidacy::endTurn(const Instant& now, FencingToken token) {
  if (turn_ && turn_->token == token) {
    turn_ = std::make_shared<const LeaseTurn>(LeaseTurn{turn_->began, now, turn_->token});
  }
}

nanoseconds Candidacy::yieldOwed(const OneTerm& rules, const Instant& now) const {
  if (!turn_ || elapsedForHolder(turn_->began, turn_->left) < *rules.maxConsecutiveHold) return nanoseconds{0};
  const nanoseconds left = rules.yieldFor - elapsedForHolder(turn_->left, now);
  return rules.patience ? std::min(left, patienceLeft(rules, now)) : left;
}

}  // namespace tenure
