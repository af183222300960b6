#include "challenger.hpp"

#include <algorithm>
#include <utility>

#include <tenure/lockcore/candidate_id.hpp>

#include "lockcore/port/random_draws.hpp"

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

void Challenger::start(const Instant& now, const event::Start& event) {
  enter(now, nanoseconds{0});
  core_.tokens.learn(event.newest);
  if (core_.options.oneTerm) {
    OneTerm& rules = *core_.options.oneTerm;
    if (rules.memory) recall(*std::exchange(rules.memory, nullptr));
    if (event.predecessor) succeed(now, *event.predecessor);
    if (const nanoseconds owed = core_.candidacy.yieldOwed(rules, now); owed > nanoseconds{0}) rest(now, owed);
  }
  if (!event.sighting) return;
  const std::optional<LeaseRecord>& record = event.sighting->record;
  core_.tokens.learn(std::max(event.sighting->tokenFloor, record ? record->token : FencingToken{}));
  core_.known.observation.adopt(*event.sighting);
  keepPayload(record);
  follow(core_.known.observation.heldByOther() ? record : std::nullopt);
  core_.known.poll.postpone(now, core_.options.timing.heartbeat());  // the sighting is as good as a read just now
}

void Challenger::enter(const Instant& now, nanoseconds cooldown) {
  holdOff(now, cooldown);
  drawPoliteness();
  core_.known.poll.hurry(now);
}

/// Waits first for an acquisition that is under way: it may win a lease, which must then be released.
NextRole Challenger::handle(const Instant& now, const event::Stop& /*event*/) {
  if (acquiring()) return {};
  core_.work.endsFrom = now;  // the work of a lost term may still be running
  if (!unanswered_.empty()) return release();
  return {};
}

NextRole Challenger::handle(const Instant& /*now*/, const event::StoreHint& /*event*/) {
  if (!acquiring()) core_.known.hinted = true;
  return {};
}

NextRole Challenger::handle(const Instant& now, const ReadAnswer& answer) {
  const ReadOutcome& outcome = answer.outcome;
  lastRequest_ = {true, outcome.has_error()};
  if (outcome) {
    readFirst_ = false;
    return observe(now, *outcome, answer.request.hinted);
  }
  core_.noteError(now, outcome.error());
  core_.known.poll.failed(now, outcome.error().errorClass, core_.random());
  if (outcome.error().errorClass == ErrorClass::corrupt) core_.known.observation.distrust();  // fail closed (I11)
  return {};
}

NextRole Challenger::advance(const Instant& now) {
  if (acquiring()) return {};
  if (core_.stopping) return windUp(now);
  if (const auto reason = reasonToGiveUp(now)) return giveUp(now, *reason);
  if (core_.inFlight) return {};
  const auto free = untilFree(now);
  if (mayCompete(now) && !readFirst_ && free && *free <= nanoseconds{0}) {
    sendAcquire(now);
  } else if (untilRead(now) <= nanoseconds{0}) {
    if (core_.known.poll.untilDue(now) > nanoseconds{0}) core_.known.poll.tookHint(now);
    const std::optional<OneTerm>& rules = core_.options.oneTerm;
    const bool looksOnce = rules && rules->patience == nanoseconds{0};
    core_.sendRead(now, limited(core_.options.timing.heartbeat()), !looksOnce);
  }
  return {};
}

NextRole Challenger::windUp(const Instant& now) const {
  if (!core_.work.running) return {next::Stop{nothingToRelease()}};
  const bool over = elapsedForHolder(core_.work.endsFrom, now) >= core_.options.timing.drainTimeout();
  if (over) return {next::Stop{ReleaseResult::notDrained}};
  return {};
}

NextRole Challenger::release() { return {next::Release{HeldTerm{std::move(unanswered_)}}}; }

/// No request is left that may have won. Only an older creation of the record, which is conditioned on its absence, may
/// still arrive.
ReleaseResult Challenger::nothingToRelease() const {
  const bool mayArrive = core_.known.openCreations > 0 && core_.known.observation.mayVanish();
  return mayArrive ? ReleaseResult::unknown : ReleaseResult::notHeld;
}

std::optional<nanoseconds> Challenger::untilWakeup(const Instant& now) const {
  if (acquiring()) return std::nullopt;
  if (core_.stopping) return core_.options.timing.drainTimeout() - elapsedForHolder(core_.work.endsFrom, now);
  std::optional<nanoseconds> until = untilPatienceEnds(now);
  if (core_.inFlight) return until;
  until = earlier(until, untilRead(now));
  if (!mayLead() || !core_.ready || readFirst_) return until;
  const auto free = untilFree(now);
  if (!free) return until;
  return earlier(until, std::max(*free, cooldownLeft(now)));
}

nanoseconds Challenger::untilRead(const Instant& now) const {
  const PollSchedule& poll = core_.known.poll;
  return core_.known.hinted ? std::min(poll.untilDue(now), poll.untilHinted(now)) : poll.untilDue(now);
}

nanoseconds Challenger::cooldownLeft(const Instant& now) const {
  return std::max(cooldown_ - elapsedForChallenger(cooldownFrom_, now), nanoseconds{0});
}

LeaseState Challenger::state() const noexcept { return acquiring() ? LeaseState::acquiring : LeaseState::candidate; }

bool Challenger::acquiring() const noexcept { return core_.inFlight && core_.inFlight->kind == RequestKind::acquire; }

/// The work of two terms in one process must not overlap either. So a candidate whose last work still runs only
/// watches, and so does one whose work could not begin.
bool Challenger::mayLead() const { return !core_.stopping && !core_.options.observesOnly && core_.work.mayBegin(); }

/// Readiness is asked for when an acquisition is sent, and not when it is answered: what the store has granted is a
/// term of this candidate, and has to be released.
bool Challenger::mayCompete(const Instant& now) const {
  return mayLead() && core_.ready && cooldownLeft(now) == nanoseconds{0};
}

/// Small random delays before competing keep candidates from writing all at once. The range of the delays grows with
/// each lost race, so a crowd spreads out, and a few candidates stay quick.
void Challenger::drawPoliteness() {
  const nanoseconds lease = core_.options.timing.duration();
  // Whoever is named has as long as the others stand back, whatever its priority.
  politeness_ = isReleasedForIt() ? nanoseconds{0} : lease / maxPriority * core_.options.priority;
  // A candidate that finds a lock free at its first look most likely has no rivals.
  if (!core_.options.oneTerm || core_.candidacy.waited()) politeness_ += raceJitter();
}

nanoseconds Challenger::raceJitter() {
  const nanoseconds lease = core_.options.timing.duration();
  const nanoseconds base = std::min<nanoseconds>(lease / 1000, milliseconds{1});
  return uniform(core_.random(), std::min(base * (1 << lostRaces_), lease / 20));
}

void Challenger::holdOff(const Instant& now, nanoseconds wait) {
  cooldownFrom_ = now;
  cooldown_ = wait;
}

NextRole Challenger::observe(const Instant& now, const std::optional<LeaseRecord>& record, bool hinted) {
  if (record && core_.isOwn(*record)) {
    if (auto won = adoptOwnAcquire(now, *record)) return *std::move(won);
  }
  if (record) core_.tokens.learn(record->token);
  see(now, record, hinted);
  return {};
}

void Challenger::see(const Instant& now, const std::optional<LeaseRecord>& record, bool hinted) {
  KnownLease& known = core_.known;
  known.asReleased = false;
  keepPayload(record);
  const bool written = record && (core_.wrote(*record) || core_.leftByOwnTerm(*record));
  const bool understood = known.observation.known();
  const auto lost = known.observation.lost();
  const bool news = known.observation.confirm(now, record, written);
  if (known.observation.lost() && known.observation.lost() != lost) tellOfLoss(now);
  const bool held = known.observation.heldByOther();
  core_.candidacy.sawHolder(held);
  const std::optional<LeaderInfo>& leader = core_.told.leader;
  const bool same = record && leader && record->holder == leader->holder && record->token == leader->token;
  if (record && leader && !same) known.poll.meetHolder();
  core_.told.leaderRenews = held && same && (core_.told.leaderRenews || (understood && news));
  known.poll.answered(now, news, hinted);
  if (news) {
    if (held && lostRaces_ > 0) --lostRaces_;
    drawPoliteness();
  }
  expectVacancy(now, record, news);
  core_.setLeader(now, held ? std::optional{core_.leaderOf(*record)} : std::nullopt);
  follow(held ? record : std::nullopt);
}

/// A holder that lives renews at least twice in its lease, and the reads come after its heartbeats. So a record that is
/// read unchanged after half of its lease is that of a holder which is late or gone.
void Challenger::expectVacancy(const Instant& now, const std::optional<LeaseRecord>& record, bool news) {
  if (news) vacancyTold_ = false;
  if (vacancyTold_ || !record || core_.options.oneTerm || core_.options.observesOnly || core_.stopping) return;
  const Observation& seen = core_.known.observation;
  const bool late = seen.heldByOther() && elapsedForChallenger(seen.since(), now) * 2 >= record->leaseDuration;
  const bool released = record->released && core_.told.leader && !core_.told.leader->self;
  if (!late && !released) return;
  vacancyTold_ = true;
  const nanoseconds free = untilFree(now).value_or(nanoseconds{0});
  core_.act(action::VacancyExpected{std::max({free, cooldownLeft(now), nanoseconds{0}})});
}

void Challenger::tellOfLoss(const Instant& now) const {
  const LostTerm& lost = *core_.known.observation.lost();
  const auto left = std::chrono::ceil<std::chrono::seconds>(lost.lease - elapsedForChallenger(lost.from, now));
  core_.log(LogLevel::warn, "the store has lost a term that this candidate has seen: " + personOf(lost.holder) + ' ' +
                                withToken(lost.token) +
                                ". A standby was promoted that lacked it, or an older copy was put back. The rest of "
                                "its lease is waited for: " +
                                std::to_string(std::max<std::int64_t>(left.count(), 0)) + " s");
}

void Challenger::follow(const std::optional<LeaseRecord>& held) {
  const bool keepsLivenessFile = held && held->livenessFile;
  const std::string livenessFile = keepsLivenessFile ? held->livenessFile->id : std::string{};
  if (livenessFile == followedLivenessFile_) return;
  followedLivenessFile_ = livenessFile;
  core_.act(action::FollowHolder{keepsLivenessFile ? held : std::nullopt});
}

}  // namespace tenure
