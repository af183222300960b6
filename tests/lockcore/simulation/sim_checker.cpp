#include "lockcore/simulation/sim_checker.hpp"

#include <algorithm>

namespace tenure::test {

using std::chrono::nanoseconds;

namespace {

/// Above this many requests in a lease something is asked without a pause. Hints and lost races come on top of a
/// handful.
constexpr int mostRequestsInALease = 120;

}  // namespace

void SimChecker::violation(const SimLife& life, const std::string& what) {
  violations_.push_back(life.name + " at " + std::to_string(now_.count()) + " ns: " + what);
}

/// I1. An overlap begins when somebody's term becomes valid, so it is enough to look then.
void SimChecker::published(SimLife& life, const TermState& term, const Lives& all) {
  const Instant local = life.clock.at(now_);
  if (term.token != life.published.token) {
    life.acquisitionSentAt = term.anchor;
  } else if (term.leadsAt(local) && !life.published.leadsAt(local)) {
    violation(life, "leads again by a term of which it said that it was over");
  }
  life.published = term;
  if (!life.published.validAt(life.clock.at(now_))) return;
  for (const SimLife* other : all) {
    if (other == &life || !other->published.validAt(other->clock.at(now_))) continue;
    const bool isOlder = life.published.token < other->published.token;
    const SimLife& older = isOlder ? life : *other;
    const SimLife& newer = isOlder ? *other : life;
    const bool victim = older.published.token <= erased_;
    // Whoever takes the lease next must have waited if it ever saw the victim; who comes after that one cannot know.
    const bool knew = newer.highestShown >= older.published.token && newer.published.token == erased_.next() &&
                      newer.acquisitionSentAt.raw > newer.highestShownAt.raw;
    if (victim && !knew) {
      count("overlap with the holder of a deleted record");
    } else {
      violation(life, "two valid terms: token " + toString(life.published.token) + " beside " + other->name + " with " +
                          toString(other->published.token));
    }
  }
}

void SimChecker::elected(SimLife& life, FencingToken token) {
  count("elected");
  if (life.term) violation(life, "Elected twice without Revoked");
  if (life.working) violation(life, "Elected while the work of the last term still runs");
  // One whose record was deleted before it learned that it had won comes after its successor.
  if (token <= lastElected_ && token > erased_) violation(life, "the token " + toString(token) + " does not rise");
  if (token <= life.lastToken || token < life.highestShown) violation(life, "its own tokens do not rise");
  if (token < life.toldOf) violation(life, "a token that a resource is known to refuse");
  lastElected_ = std::max(lastElected_, token);
  life.lastToken = token;
  life.term = token;
  life.working = true;
}

void SimChecker::revoked(SimLife& life, const action::Revoked& revoked, const std::optional<LeaseRecord>& truth) {
  count("revoked " + std::string{toString(revoked.reason)});
  if (!life.term || *life.term != revoked.token) violation(life, "Revoked without Elected");
  const bool early = elapsedForHolder(life.published.anchor, life.clock.at(now_)) < life.timing.leadsFor();
  switch (revoked.reason) {
    case RevokeReason::lost:
    case RevokeReason::recordMissing: {
      const bool ours = truth && truth->holder == life.name && truth->token == revoked.token && !truth->released;
      if (ours && life.toldOf <= revoked.token) violation(life, "gave up a lease that it holds: " + revoked.detail);
      break;
    }
    case RevokeReason::expired:
    case RevokeReason::storeUnreachable:
      if (early) violation(life, "expired before its time");
      if (life.troubledAt < now_ - 2 * life.timing.duration()) {
        violation(life, "expired though everything was answered in time: " + revoked.detail);
      }
      break;
    case RevokeReason::stopped:
    case RevokeReason::steppedDown:
    case RevokeReason::fatal:
      break;
  }
  if (calm_) violation(life, "deposed though there are no faults: " + revoked.detail);
  life.term.reset();
}

void SimChecker::requestSent(SimLife& life, Attempt attempt, nanoseconds timeout, bool dropsOld) {
  const Instant now = life.clock.at(now_);
  const bool waiting = life.unanswered && elapsedForHolder(life.clock.at(life.sentAt), now) < life.timeout;
  if (waiting && !dropsOld) violation(life, "a request while another one is in flight");
  if (attempt <= life.attempt) violation(life, "attempt numbers do not rise");
  if (timeout <= nanoseconds{0}) violation(life, "a request without time");
  life.attempt = attempt;
  life.unanswered = true;
  life.sentAt = now_;
  life.timeout = timeout;
  if (now_ - life.windowFrom > life.timing.duration()) {
    life.windowFrom = now_;
    life.requestsInWindow = 0;
  }
  if (++life.requestsInWindow == mostRequestsInALease) violation(life, "hammers the store");
}

void SimChecker::releaseSent(const SimLife& life) {
  count("release");
  if (life.working) violation(life, "released while its work runs (I9)");
  if (life.published.validAt(life.clock.at(now_))) violation(life, "released while its term is published as valid");
}

void SimChecker::stopped(SimLife& life) {
  if (life.term) violation(life, "stopped without Revoked");
  life.stopped = true;
}

void SimChecker::acted(const SimLife& life) {
  if (life.stopped) violation(life, "does something after it stopped");
}

void SimChecker::askedToBeWoken(SimLife& life, nanoseconds delay) {
  if (delay > nanoseconds{0}) return;
  life.zeroWakes = life.zeroWakeAt == now_ ? life.zeroWakes + 1 : 0;
  life.zeroWakeAt = now_;
  if (life.zeroWakes == 3) violation(life, "asks again and again to be woken at once");
}

void SimChecker::erased(const LeaseRecord& record) { erased_ = std::max(erased_, record.token); }

void SimChecker::calmBegins(const Lives& all) {
  calm_ = true;
  const auto leads = [&](const SimLife* life) { return life->published.leadsAt(life->clock.at(now_)); };
  const auto leaders = std::count_if(all.begin(), all.end(), leads);
  if (leaders != 1) {
    violations_.push_back("long after the last fault " + std::to_string(leaders) + " candidates lead instead of one");
  }
}

}  // namespace tenure::test
