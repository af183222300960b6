// Promotions of standbys: the last commits may be lost, and the old primary may live on for a while.
#include "simulation/sim_world.hpp"

namespace tenure::test {

/// Commits are lost in a part of the promotions only: after a synchronous commit there is nothing to lose.
void SimWorld::tickFailover() {
  endFork(now_ >= forkUntil_);
  if (!happens(FaultKind::failover)) return;
  SeededRandom& random = stream(FaultKind::failover);
  constexpr std::uint64_t lags[] = {0, 1, 3, 12};
  const std::size_t lag = random.below(lags[random.below(4)] + 1);
  endFork(true);
  std::unique_ptr<SimStore> old = simple_ && happens(FaultKind::fork) ? simple_->copy() : nullptr;
  const auto promotion = truth_->promote(lag);
  if (!promotion) return;
  noteWorld("A STANDBY IS PROMOTED, without the last " + std::to_string(promotion->lost) + " commits");
  checker_.promoted();
  if (old) beginFork(std::move(old));
  if (promotion->lost == 0) return;
  report_.points.hit(SimPoint::commitsLost);
  checker_.setBack(promotion->longest > promotion->waited, lives());
  // A candidacy that saw a record removed may be answered as if it were there, and the other way round.
  if (!truth_->told()) checker_.removed(12 * longest_);
}

void SimWorld::beginFork(std::unique_ptr<SimStore> old) {
  old_ = std::move(old);
  SeededRandom& random = stream(FaultKind::fork);
  forkUntil_ = now_ + upTo(random, 3 * lease_);
  checker_.lawlessUntil(forkUntil_ + 3 * longest_);
  noteWorld("THE OLD PRIMARY LIVES ON for " + std::to_string((forkUntil_ - now_).count()));
  for (auto& process : processes_) process->atOld = random.chance(0.5);
}

/// What the old primary has written is lost.
void SimWorld::endFork(bool over) {
  if (!old_ || !over) return;
  noteWorld("THE OLD PRIMARY IS GONE");
  old_.reset();
  checker_.setBack(true, lives());
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

}  // namespace tenure::test
