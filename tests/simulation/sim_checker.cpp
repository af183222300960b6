#include "simulation/sim_checker.hpp"

#include <algorithm>

#include <tenure/lockcore/candidate_id.hpp>

namespace tenure::test {

using std::chrono::nanoseconds;

namespace {

/// More requests than this during a lease mean that something asks without a pause. A regular lease takes a handful;
/// hints and lost races come on top.
constexpr int mostRequestsInALease = 120;
constexpr std::size_t mostViolations = 20;

}  // namespace

void SimChecker::violation(const SimLife& life, const char* oracle, const std::string& what) {
  violation(oracle, life.name + " at " + std::to_string(now_.count()) + " ns: " + what);
}

void SimChecker::violation(const char* oracle, const std::string& what) {
  if (violations_.size() < mostViolations) violations_.push_back({oracle, what});
}

/// I1, I2. An overlap begins when somebody's term becomes valid, so it is enough to check at that moment.
void SimChecker::published(SimLife& life, const TermState& term, const Lives& all) {
  const Instant local = life.clock.at(now_);
  if (term.token == life.published.token && term.leadsAt(local) && !life.published.leadsAt(local)) {
    violation(life, "revival", "leads again by a term of which it said that it was over");
  }
  const bool news =
      !term.token.isNone() && !(term.anchor == life.published.anchor && term.token == life.published.token);
  if (news) {
    SentWrite* proof = life.find(term.anchor);
    if (proof == nullptr) {
      violation(life, "anchor", "counts its right from a moment at which it sent no write");
    } else if (!proof->applied) {
      violation(life, "anchor", "counts its right from a write that the store has not applied");
    } else {
      proof->proven = true;
    }
  }
  life.published = term;
  if (!term.validAt(local)) return;
  for (const SimLife* other : all) {
    if (other != &life && other->published.validAt(other->clock.at(now_))) overlap(life, *other);
  }
  if (now_ < foreignUntil_ && term.token > erased_ && !lawless()) {
    violation(life, "overlap", "a valid term while a client of another make holds the lease");
  }
}

void SimChecker::overlap(const SimLife& life, const SimLife& other) {
  const bool isOlder = life.published.token < other.published.token;
  const SimLife& older = isOlder ? life : other;
  const SimLife& newer = isOlder ? other : life;
  if (lawless()) return points_.hit(SimPoint::onlyTheFence);
  // It may have been shown an old record instead, by which nobody needed to be waited for.
  const bool misled = newer.misledAt >= now_ - 3 * newer.timing.duration();
  if (misled && older.published.token <= erased_) return;
  if (older.published.token <= overwritten_) return points_.hit(SimPoint::victimOfOverwriting);
  if (older.published.token <= unprotected_) return;
  violation(life, "overlap",
            "two valid terms: token " + toString(life.published.token) + " beside " + other.name + " with " +
                toString(other.published.token));
}

/// What a write says of its sender: others act by it.
void SimChecker::states(const SimLife& life, const WriteRequest& request) {
  const LeaseRecord& record = request.record;
  if (record.holder != life.name) violation(life, "record", "states another holder");
  if (record.released != (request.purpose == WriteRequest::Purpose::release)) {
    violation(life, "record", "is marked as released and is none, or the other way round");
  }
  if (record.leaseDuration > life.timing.duration())
    violation(life, "record", "states a longer lease than it ever had");
}

/// What is stored once a write has arrived.
void SimChecker::carries(const SimLife& writer, const LeaseRecord& truth) {
  if (!writer.data.empty() && truth.data != writer.data) violation(writer, "record", "lost the data of its holder");
}

void SimChecker::leaves(const LeaseRecord& truth) {
  const Successor& to = truth.successor;
  if (to.name.empty() || !truth.released) return;
  // A challenger's clock may be a little fast.
  left_ = {truth.version, to.name, now_ + TrueTime{std::min(to.heartbeat, truth.leaseDuration)} * 4 / 5};
}

/// A lock may have less time than a heartbeat.
void SimChecker::takesWhatIsLeft(const SimLife& life, const WriteRequest& request) {
  const bool left =
      std::find(request.expected.begin(), request.expected.end(), left_.version) != request.expected.end();
  if (left_.name.empty() || !left) return;
  const bool named = nameOf(life.name) == left_.name;
  points_.hit(named ? SimPoint::successorElected : SimPoint::successorPassedOver);
  if (named || life.lock || !life.sawItHeld || lawless() || now_ >= left_.until) return;
  violation(life, "successor", "takes at once what was released for " + left_.name);
}

void SimChecker::applied(SimLife& writer, const RecordVersion& version, const std::optional<LeaseRecord>& truth,
                         const Lives& all) {
  SentWrite* write = writer.find(version);
  if (write == nullptr) return;
  // This also holds for a second copy: if the record was removed since, the copy takes its own token.
  if (write->purpose == WriteRequest::Purpose::acquire && truth) tookToken(writer, truth->token);
  if (write->applied) return;
  write->applied = true;
  const bool stored = truth && truth->version == version;
  if (stored) carries(writer, *truth);
  if (stored) leaves(*truth);
  if (write->purpose != WriteRequest::Purpose::acquire) return;
  if (stored && !truth->successor.name.empty()) violation(writer, "successor", "keeps what the last term has left");
  if (truth && truth->token <= lastElected_) violation(writer, "token", "got a token that does not rise");
  if (truth && truth->token <= write->floor) {
    violation(writer, "token", "got token " + toString(truth->token) + " and knew of " + toString(write->floor));
  }
  if (lawless()) return;
  const bool misled = writer.misledAt >= now_ - 8 * writer.timing.duration();
  // The record was marked as released; then a foreign client took the lease and released it by deleting the record. Now
  // an acquisition that is conditioned on the absence of the record succeeds. The earlier answer was true at its time.
  const bool since = write->creates && writer.releasedAt >= TrueTime{0} && writer.releasedAt < foreignErasedAt_;
  if (writer.saysFree && !misled && !since && now_ > erasedUntil_) {
    violation(writer, "release", "takes the lease after it said that it does not");
  }
  if (now_ < foreignUntil_) violation(writer, "takeover", "takes the lease that a client of another make holds");
  for (const SimLife* other : all) {
    // Nobody knows how long to wait for a lost term, except who was shown it, with its lease, and no later one, before
    // this was sent. What a resource has told is no sighting of the holder, and of a term that was kept a longer lease
    // may be lost. Whoever was shown an old state without a record is refused, unless a promotion leaves none either.
    const FencingToken token = other->published.token;
    const bool shown = writer.highestShown == token && other->published.validFor <= writer.shownLease;
    const bool believesItGone = misled && write->creates;
    const bool knew = token > kept_ && write->floor == token && shown && writer.toldOf != token && !believesItGone;
    const FencingToken excused = knew ? overwritten_ : std::max(overwritten_, unprotected_);
    if (other == &writer || other->published.token <= excused) continue;
    if (misled && other->published.token <= erased_) continue;
    if (!other->published.validAt(other->clock.at(now_))) continue;
    violation(writer, "takeover",
              "takes the lease of " + other->name + ", whose term " + toString(other->published.token) + " is valid");
  }
}

/// From now on nobody writes for this term, so the rule is that of a takeover.
void SimChecker::announced(const SimLife& challenger, FencingToken token, const Lives& all) {
  highestApplied_ = std::max(highestApplied_, token.next());  // the counter
  if (lawless() || token <= std::max(overwritten_, unprotected_)) return;
  const bool misled = challenger.misledAt >= now_ - 8 * challenger.timing.duration();
  if (misled && token <= erased_) return;
  for (const SimLife* other : all) {
    const bool holds = other->published.token == token && other->published.validAt(other->clock.at(now_));
    if (other == &challenger || !holds) continue;
    violation(challenger, "takeover",
              "announces that it takes the lease of " + other->name + ", whose term " + toString(token) + " is valid");
  }
}

/// Anybody who may write to a resource may invent a report; no number of reports brings the counter near its end.
void SimChecker::tookToken(const SimLife& writer, FencingToken token) {
  const bool jumps = token.value() > std::max(highestApplied_, block_).value() + maxReportedStep + 1;
  if (jumps) violation(writer, "token", "the counter jumps to " + toString(token) + " by a resource's report");
  highestApplied_ = std::max(highestApplied_, token);
}

void SimChecker::told(SimLife& life, FencingToken token) const {
  if (life.stopped) return;
  const auto isWithinAStepOf = [&](FencingToken known) {
    return token <= maxFencingToken && token.value() <= known.value() + maxReportedStep;
  };
  if (isWithinAStepOf(std::max(life.lastToken, life.highestShown))) life.toldOf = std::max(life.toldOf, token);
  if (isWithinAStepOf(std::max(highestApplied_, block_))) life.mayBelieve = std::max(life.mayBelieve, token);
}

void SimChecker::foreignHolds(TrueTime until, const Lives& all) {
  const bool begins = foreignUntil_ <= now_ && until > now_;
  foreignUntil_ = until;
  // A foreign client does not know the counter. If the record was deleted, it takes the lease at once. A candidate that
  // sees the foreign record considers the term before it as over.
  if (begins) overwritten_ = std::max(overwritten_, erased_);
  if (!begins || lawless()) return;
  for (const SimLife* life : all) {
    if (life->published.token <= erased_ || !life->published.validAt(life->clock.at(now_))) continue;
    violation(*life, "overlap", "is still valid when a client of another make has waited the lease out");
  }
}

void SimChecker::elected(SimLife& life, FencingToken token) {
  if (life.term) violation(life, "pairing", "Elected twice without Revoked");
  if (life.lock) wonLock(life);
  if (life.working) violation(life, "work", "Elected while the work of the last term still runs");
  // A candidate may learn that it has won only after its successor was elected: its record was overwritten before, or
  // its clocks stood still; or a promotion lost its acquisition, and left nothing to wait for.
  if (token <= lastElected_ && token > std::max(overwritten_, unprotected_) && !lawless()) {
    violation(life, "token", "the token " + toString(token) + " does not rise");
  }
  if (token <= life.lastToken || token < life.highestShown) violation(life, "token", "its own tokens do not rise");
  if (token < life.toldOf) violation(life, "token", "a token that a resource is known to refuse");
  if (!life.published.leadsAt(life.clock.at(now_))) violation(life, "pairing", "Elected by a term that does not lead");
  lastElected_ = std::max(lastElected_, token);
  life.progressedAt = life.clock.at(now_);
  life.lastToken = token;
  life.shownOwn = false;
  life.term = token;
  life.working = true;
}

void SimChecker::revoked(SimLife& life, const action::Revoked& revoked, const std::optional<LeaseRecord>& truth) {
  if (!life.term || *life.term != revoked.token) violation(life, "pairing", "Revoked without Elected");
  if (life.published.leadsAt(life.clock.at(now_))) violation(life, "pairing", "Revoked while its term still leads");
  switch (revoked.reason) {
    case RevokeReason::lost:
    case RevokeReason::recordMissing:
      lost(life, revoked, truth);
      break;
    case RevokeReason::expired:
    case RevokeReason::storeUnreachable:
      endedEarly(life, revoked);
      break;
    case RevokeReason::stopped:
    case RevokeReason::steppedDown:
    case RevokeReason::fatal:
    case RevokeReason::notStarted:
      break;
  }
  if (calm_) violation(life, "calm", "deposed though there are no faults: " + revoked.detail);
  life.term.reset();
}

/// I8 and stability: no candidate loses a lease that it holds and renews.
void SimChecker::lost(const SimLife& life, const action::Revoked& revoked, const std::optional<LeaseRecord>& truth) {
  const bool told = life.mayBelieve > revoked.token;
  const bool misled = life.misledAt >= now_ - 3 * life.timing.duration();
  if (told || misled || revoked.token <= setBack_) return;
  const bool ours = truth && truth->holder == life.name && truth->token == revoked.token && !truth->released;
  if (ours) return violation(life, "kept", "gave up a lease that it holds: " + revoked.detail);
  const bool disturbed = revoked.token <= erased_ || lawless();
  const bool healthy = life.disturbedAt < now_ - 2 * life.timing.duration();
  if (healthy && !disturbed) violation(life, "stability", "deposed though its renewals succeed: " + revoked.detail);
}

void SimChecker::endedEarly(const SimLife& life, const action::Revoked& revoked) {
  const bool early = elapsedForHolder(life.published.anchor, life.clock.at(now_)) < life.leastLeads;
  if (early) violation(life, "stability", "expired before its time");
  if (!life.stuck && life.disturbedAt < now_ - 2 * life.timing.duration()) {
    violation(life, "stability", "expired though everything was answered in time: " + revoked.detail);
  }
}

void SimChecker::requestSent(SimLife& life, Attempt attempt, nanoseconds timeout, bool dropsOld) {
  const Instant now = life.clock.at(now_);
  const bool waiting = life.unanswered && elapsedForHolder(life.sentAt, now) < life.timeout;
  if (waiting && !dropsOld) violation(life, "requests", "a request while another one is in flight");
  if (attempt <= life.attempt) violation(life, "requests", "attempt numbers do not rise");
  if (timeout <= nanoseconds{0}) violation(life, "requests", "a request without time");
  life.attempt = attempt;
  life.unanswered = true;
  life.sentAt = now;
  life.timeout = timeout;
  if (now_ - life.windowFrom > life.timing.duration()) {
    life.windowFrom = now_;
    life.requestsInWindow = 0;
  }
  if (++life.requestsInWindow == mostRequestsInALease) violation(life, "requests", "hammers the store");
}

/// I9, I11.
void SimChecker::writeSent(SimLife& life, const WriteRequest& request) {
  const Instant now = life.clock.at(now_);
  const FencingToken floor = std::max({life.lastToken, life.highestShown, life.toldOf});
  life.sent[life.nextSent++ % life.sent.size()] = {now, request.record.version, request.purpose, floor,
                                                   request.expected.empty()};
  const bool valid = life.published.validAt(now);
  states(life, request);
  if (request.purpose == WriteRequest::Purpose::release) {
    if (life.working) violation(life, "release", "released while its work runs");
    if (valid) violation(life, "release", "released while its term is published as valid");
  } else if (request.purpose == WriteRequest::Purpose::acquire) {
    if (life.unreadable) violation(life, "closed", "takes a record that it was told not to be understood");
    if (life.term) violation(life, "pairing", "acquires while it leads");
    takesWhatIsLeft(life, request);
    if (life.lock && life.lock->mustExist && request.expected.empty()) {
      violation(life, "answer", "makes a record though it is to take only one that exists");
    }
  } else if (std::find(request.expected.begin(), request.expected.end(), request.record.version) !=
             request.expected.end()) {
    violation(life, "version", "a renewal that does not change the version");
  } else if (life.manual && life.ticketRenewed == life.ticketAsked) {
    violation(life, "manual", "renews though nobody has asked it to");
  } else if (const auto timeout = life.timing.progressTimeout();
             life.term && timeout && elapsedForHolder(life.progressedAt, now) > *timeout) {
    violation(life, "progress", "renews though its work has shown no progress for so long");
  }
}

void SimChecker::stopped(SimLife& life, ReleaseResult result, const std::optional<LeaseRecord>& truth) {
  if (life.term) violation(life, "pairing", "stopped without Revoked");
  const SentWrite* const left = truth ? life.find(truth->version) : nullptr;
  const bool itsOwn = !life.lock || left != nullptr;  // it was written in this candidacy
  // The network may deliver a second copy of an acquisition that was answered, with success or with a rejection, after
  // this holder or the next one has removed the record. The copy creates the record again, under its own token.
  const bool answered = left != nullptr && (left->proven || left->refused);
  const bool again = answered && left->creates && truth->token > life.lastToken;
  const bool secondCopy = life.lock && again;
  // A store reads before it removes. If the read shows an old record, that of the release before, the store takes it
  // for the one of this release.
  const bool misled = life.lock && life.lock->removes && life.misledAt >= now_ - life.timing.duration();
  // A promotion has lost the release.
  const bool lost = life.atOldPrimary || (truth && truth->token <= setBack_ && !setBack_.isNone());
  const bool excused = secondCopy || misled || lost;
  const bool holds = truth && truth->holder == life.name && !truth->released && itsOwn && !excused;
  if (result == ReleaseResult::released && holds) violation(life, "release", "says that it released and did not");
  life.stopped = true;
  life.saysFree = result == ReleaseResult::released || result == ReleaseResult::notHeld;
  life.releasedAt = result == ReleaseResult::released ? now_ : TrueTime{-1};
}

void SimChecker::acted(const SimLife& life) {
  if (life.stopped) violation(life, "pairing", "does something after it stopped");
}

/// I4, I5: a candidate that was told of a term is told of its end in the step in which its clock shows the end.
void SimChecker::stepped(SimLife& life) {
  if (life.term && !life.published.leadsAt(life.clock.at(now_))) {
    violation(life, "onTime", "leads no more and has not told so");
    life.term.reset();  // reported once
  }
}

void SimChecker::askedToBeWoken(SimLife& life, nanoseconds delay) {
  if (life.term && delay > life.published.remainingAt(life.clock.at(now_))) {
    violation(life, "onTime", "asks to be woken after the end of its term");
  }
  if (delay > nanoseconds{0}) return;
  life.zeroWakes = life.zeroWakeAt == now_ ? life.zeroWakes + 1 : 0;
  life.zeroWakeAt = now_;
  if (life.zeroWakes == 3) violation(life, "requests", "asks again and again to be woken at once");
}

bool SimChecker::fencedWrite(const SimLife& life, FencingToken token) {
  if (token < fence_) {
    points_.hit(SimPoint::fenceRefused);
    return false;
  }
  if (token == fence_ && fenceOwner_ != life.name) {
    violation(life, "fence", "writes under the token " + toString(token) + " of " + fenceOwner_);
  }
  fence_ = token;
  fenceOwner_ = life.name;
  return true;
}

void SimChecker::erased(const LeaseRecord& record, TrueTime memory) {
  erased_ = std::max(erased_, record.token);
  erasedUntil_ = now_ + memory;
}

void SimChecker::overwritten(const LeaseRecord& record) {
  erased(record, TrueTime{0});
  overwritten_ = erased_;
}

void SimChecker::calmBegins(const Lives& all) {
  calm_ = true;
  const auto leads = [&](const SimLife* life) { return life->published.leadsAt(life->clock.at(now_)); };
  const auto leaders = std::count_if(all.begin(), all.end(), leads);
  if (leaders == 1) return;
  violation("liveness", "long after the last fault " + std::to_string(leaders) + " candidates lead instead of one");
}

}  // namespace tenure::test
