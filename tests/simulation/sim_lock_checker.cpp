// What must hold for a candidacy of one term: it ends once, with one answer, in time, and leaves nothing behind.
#include <algorithm>

#include "simulation/sim_checker.hpp"

namespace tenure::test {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

using Answer = SimLock::Answer;

/// For one request: the machine gives it up after its time and an eighth more.
nanoseconds longestWait(nanoseconds timeout) {
  const nanoseconds limited = std::min<nanoseconds>(timeout, milliseconds{5'000});
  return limited + limited / 8 + milliseconds{5};
}

/// The machine waits for an acquisition that is under way when the wait ends, and for the read that finds out what
/// became of it. If that read shows a free lease, it is tried once more: both happen a second time.
nanoseconds slackOf(const LeaseTiming& timing) {
  const nanoseconds both = longestWait(timing.leadsFor() / 2) + longestWait(timing.heartbeat());
  return 2 * both + nanoseconds{timing.duration()} / 10;
}

}  // namespace

void SimChecker::withdrawn(SimLife& life) const {
  if (life.lock->answer == Answer::none) life.lock->answer = Answer::withdrawn;
}

void SimChecker::wonLock(SimLife& life) {
  SimLock& lock = *life.lock;
  if (lock.answer == Answer::won) violation(life, "answer", "a candidacy of one term is won twice");
  if (lock.answer == Answer::gaveUp) violation(life, "answer", "is won after it said that it was not");
  if (lock.answer == Answer::withdrawn) violation(life, "answer", "is won though nobody waits for it any more");
  boundHolds(life);
  lock.answer = Answer::won;
  points_.hit(SimPoint::lockWon);
}

void SimChecker::gaveUp(SimLife& life, GiveUpReason reason) {
  SimLock& lock = *life.lock;
  if (lock.answer != Answer::none) violation(life, "answer", "gives up after it was answered");
  boundHolds(life);
  lock.answer = Answer::gaveUp;
  switch (reason) {
    case GiveUpReason::missing:
      points_.hit(SimPoint::lockGaveUpMissing);
      if (!lock.mustExist) violation(life, "answer", "gives up because there is no record, and may make one");
      return;
    case GiveUpReason::held:
      points_.hit(SimPoint::lockGaveUpHeld);
      if (lock.shownFree) violation(life, "answer", "gives up for a holder that it was shown to have released");
      break;
    case GiveUpReason::unavailable:
      points_.hit(SimPoint::lockGaveUpUnavailable);
      break;
  }
  const bool early = !lock.patience || lock.waitedAt(life.clock.at(now_)) < *lock.patience;
  if (early) violation(life, "answer", "gives up before its wait is over");
}

void SimChecker::boundHolds(const SimLife& life) {
  if (!life.lock || life.lock->answer != Answer::none || !life.lock->patience || !life.lock->startedAt) return;
  const nanoseconds slack = slackOf(life.timing);
  const nanoseconds waited = life.lock->waitedAt(life.clock.at(now_));
  const bool mayHaveStalled = now_ <= life.stalledAt + 2 * slack;
  if (mayHaveStalled || waited <= *life.lock->patience + slack) return;
  const auto millis = [](nanoseconds time) { return std::to_string(time / milliseconds{1}) + " ms"; };
  violation(life, "answer",
            "has no answer long after its wait was over: waited " + millis(waited) + " of " +
                millis(*life.lock->patience) + ", and " + millis(slack) + " more are meant");
}

/// I8. A lock whose term ran out before its release is left to expire. A candidacy that does not know what became of an
/// acquisition says so.
void SimChecker::candidacyEnded(SimLife& life, ReleaseResult result, const std::optional<LeaseRecord>& truth) {
  const Answer answer = life.lock->answer;
  if (answer == Answer::none) violation(life, "answer", "ends without an answer");
  if (answer == Answer::won || result == ReleaseResult::unknown) return;
  if (result == ReleaseResult::released) points_.hit(SimPoint::lockWonForNobody);
  const bool misled = life.misledAt >= now_ - 8 * life.timing.duration();
  const SentWrite* const left = truth && !truth->released ? life.find(truth->version) : nullptr;
  const bool lost = life.atOldPrimary || (truth && truth->token <= setBack_ && !setBack_.isNone());  // its release
  if (left == nullptr || misled || lost || left->refused) return;  // a second copy of a refused request benefits nobody
  violation(life, "answer", "ends and leaves what it has won to nobody");
}

}  // namespace tenure::test
