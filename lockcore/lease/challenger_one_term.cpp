// A challenger whose candidacy ends by itself: what it knows from earlier candidacies for the same key, and when it
// gives up.
#include <algorithm>

#include "challenger.hpp"

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

/// Acquisitions with an unknown outcome after the wait is over: the one that was under way, and one more.
constexpr int mostDoubtsAfterWait = 2;
/// Limit of one request of a candidate that waits for a lock: if the store answers later than this, it is asked again.
constexpr milliseconds longestRequest{5'000};

}  // namespace

void Challenger::recall(const LeaseMemory& memory) {
  const OneTerm& rules = *core_.options.oneTerm;
  KnownLease& known = core_.known;
  known.observation = memory.observation;
  core_.tokens.recall(memory.tokens);
  core_.sentVersions.recall(memory.sentVersions);
  // With mustExist, a read comes first if the record was removed: somebody may have created it again.
  known.asReleased = memory.asReleased && !(rules.mustExist && known.observation.absent());
  readFirst_ = !known.asReleased;
  core_.candidacy.joinTurn(rules, memory);
}

/// This candidate's memory is older than the predecessor's term. A released version cannot become the current one
/// again. So the condition on that version proves that nobody held the lease in between (I1), however late this
/// candidate starts.
void Challenger::succeed(const Instant& now, const LeaseMemory& predecessor) {
  KnownLease& known = core_.known;
  core_.tokens.recall(predecessor.tokens);
  known.asReleased = predecessor.asReleased && known.observation.adoptReleased(now, predecessor.observation);
  readFirst_ = !known.asReleased;
  core_.candidacy.joinTurn(*core_.options.oneTerm, predecessor);
}

/// By the end of the pause somebody else may hold the lease. A read costs less than a write that is refused.
void Challenger::rest(const Instant& now, nanoseconds length) {
  core_.known.asReleased = false;
  readFirst_ = true;
  holdOff(now, length);
  core_.known.poll.postpone(now, length);
}

nanoseconds Challenger::limited(nanoseconds timeout) const {
  return core_.options.oneTerm ? std::min<nanoseconds>(timeout, longestRequest) : timeout;
}

bool Challenger::waitIsOver(const Instant& now) const {
  return core_.options.oneTerm && core_.candidacy.waitIsOver(*core_.options.oneTerm, now);
}

/// Once the wait is over, the candidate waits for something else: an answer, or the moment when it may take a free
/// lease.
std::optional<nanoseconds> Challenger::untilPatienceEnds(const Instant& now) const {
  const std::optional<OneTerm>& rules = core_.options.oneTerm;
  if (!lastRequest_.answered || !rules || !rules->patience || waitIsOver(core_.lastStep)) return std::nullopt;
  return core_.candidacy.patienceLeft(*rules, now);
}

/// A free lease is still taken if only the delay before competing is left: a candidate that looks only once must not
/// miss it by a millisecond. But the attempts must end sometime if a store shows a free lease and answers no
/// acquisition.
std::optional<GiveUpReason> Challenger::reasonToGiveUp(const Instant& now) const {
  const Observation& observation = core_.known.observation;
  if (!core_.options.oneTerm || !lastRequest_.answered) return std::nullopt;
  if (core_.options.oneTerm->mustExist && observation.absent()) return GiveUpReason::missing;
  if (!waitIsOver(now)) return std::nullopt;
  if (lastRequest_.failed) return GiveUpReason::unavailable;
  const auto free = observation.untilFree(now, nanoseconds{0});
  const bool isFree = free && *free <= nanoseconds{0};
  if (!isFree) return GiveUpReason::held;
  return doubtsAfterWait_ < mostDoubtsAfterWait ? std::nullopt : std::optional{GiveUpReason::unavailable};
}

/// An acquisition without an answer may still arrive; it is then released.
NextRole Challenger::giveUp(const Instant& now, GiveUpReason reason) {
  const bool unavailable = reason == GiveUpReason::unavailable;
  core_.act(action::GaveUp{reason, core_.known.observation.holderSeen(now),
                           unavailable ? core_.told.error : std::nullopt, !unanswered_.empty()});
  core_.stopping = true;
  core_.inFlight.reset();
  if (unanswered_.empty()) return {next::Stop{nothingToRelease()}};
  NextRole next = release();
  next.actsAtOnce = true;
  return next;
}

}  // namespace tenure
