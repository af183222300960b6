// Promotions of standbys: the last commits may be lost, and the old primary may live on for a while.
#include <algorithm>

#include "simulation/sim_world.hpp"

namespace tenure::test {

/// Commits are lost in a part of the promotions only: after a synchronous commit there is nothing to lose.
void SimWorld::tickFailover() {
  endFork(now_ >= forkUntil_);
  if (!happens(FaultKind::failover)) return;
  SeededRandom& random = stream(FaultKind::failover);
  constexpr std::uint64_t lags[] = {0, 1, 3, 12};
  promoteStandby(random.below(lags[random.below(4)] + 1));
}

void SimWorld::promoteStandby(std::size_t lag) {
  endFork(true);
  const bool forks = happens(FaultKind::fork);
  std::unique_ptr<SimStore> old = simple_ && forks ? simple_->copy() : nullptr;
  const auto promotion = truth_->promote(lag);
  if (!promotion) return;
  noteWorld("A STANDBY IS PROMOTED, without the last " + std::to_string(promotion->lost) + " commits");
  checker_.promoted();
  old_ = std::move(old);
  if (forks) beginFork();
  if (promotion->lost == 0) return;
  report_.points.hit(SimPoint::commitsLost);
  const auto told = truth_->told();
  const FencingToken kept = told ? told->token : FencingToken{};
  if (losesTerms(*promotion)) checker_.setBack(promotion->longest > promotion->waited, kept, lives());
  // A candidacy that saw a record removed may be answered as if it were there, and the other way round.
  if (!truth_->told()) checker_.removed(12 * longest_);
}

/// Soon after an election or a deletion, so that it is lost, and perhaps what came before or after it.
void SimWorld::promoteSoon() {
  SeededRandom& random = stream(FaultKind::failover);
  if (!faults_ || !plan_.has(FaultKind::failover) || !random.chance(0.3)) return;
  const std::size_t lag = 1 + random.below(4);
  at(now_ + upTo(random, random.chance(0.5) ? lease_ / 20 : lease_ / 2), [this, lag] {
    if (faults_) promoteStandby(lag);
  });
}

/// A synchronous standby lacks only what was not answered with certainty. So the holder keeps its term if nothing but
/// renewals is lost, unless it has read one of them: reads do not wait for a standby.
bool SimWorld::losesTerms(const SimTruth::Promotion& promotion) {
  if (!promotion.synchronous || !promotion.sameTerm) return true;
  const SimChecker::Lives& all = lives();
  return std::any_of(all.begin(), all.end(),
                     [&](const SimLife* life) { return life->name == truth_->record()->holder && life->shownOwn; });
}

void SimWorld::beginFork() {
  forked_ = true;
  SeededRandom& random = stream(FaultKind::fork);
  forkUntil_ = now_ + upTo(random, 3 * lease_);
  checker_.lawlessUntil(forkUntil_ + 3 * longest_);
  noteWorld("THE OLD PRIMARY LIVES ON for " + std::to_string((forkUntil_ - now_).count()));
  for (auto& process : processes_) process->atOld = random.chance(0.5);
}

/// What the old primary has written is lost.
void SimWorld::endFork(bool over) {
  if (!forked_ || !over) return;
  noteWorld("THE OLD PRIMARY IS GONE");
  forked_ = false;
  old_.reset();
  checker_.setBack(true, maxFencingToken, lives());
  for (auto& process : processes_) process->atOld = false;
}

SimStore& SimWorld::storeOf(SimLife& life) {
  if (!old_) return *simple_;
  for (const auto& process : processes_) {
    if (process->life.get() != &life || !process->atOld) continue;
    life.atOldPrimary = true;
    misled(life);
    return *old_;
  }
  return *simple_;
}

void SimChecker::promoted() {
  constexpr unsigned bits = 40;
  block_ = FencingToken{((std::max(highestApplied_, block_).value() >> bits) + 1) << bits};
}

void SimChecker::setBack(bool unprotected, FencingToken kept, const Lives& all) {
  kept_ = std::max(kept_, kept);
  setBack_ = std::max(setBack_, highestApplied_);
  if (unprotected) unprotected_ = setBack_;
  for (const SimLife* life : all) {
    if (life->published.validAt(life->clock.at(now_))) points_.hit(SimPoint::termOfLostCommits);
  }
}

void SimChecker::appliedAtOldPrimary(SimLife& writer, const RecordVersion& version, FencingToken token) {
  if (SentWrite* write = writer.find(version)) write->applied = true;
  highestApplied_ = std::max(highestApplied_, token);
}

}  // namespace tenure::test
