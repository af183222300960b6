// How a challenger acquires a lease that is free by its own clock, and what follows from the answer.
#include <algorithm>
#include <utility>

#include "challenger.hpp"

namespace tenure {

using std::chrono::nanoseconds;

namespace {

/// No more unresolved acquisitions than this are remembered. If a forgotten one arrives late, the record appears as our
/// own and is taken over again.
constexpr std::size_t maxPendingAcquires = 4;
constexpr int maxLostRaces = 8;
/// A third of a long lease is minutes. A lease that is free must not stay so for that long after one rejection.
constexpr std::chrono::seconds longestInterval{10};

std::string tooLow(FencingToken token, FencingToken floor) {
  return "the store gave this term the fencing token " + toString(token) + ", but " + toString(floor) +
         " was seen before; the lease is acquired again for a higher one";
}

}  // namespace

void Challenger::sendAcquire(const Instant& now) {
  Observation& observation = core_.known.observation;
  lastRequest_.answered = false;
  WriteRequest write = core_.draft(WriteRequest::Purpose::acquire, FencingToken{}, observation.expected());
  write.record.data = core_.options.data;
  write.record.attributes = core_.options.attributes;
  write.record.acquiredAtMillis = core_.acquiredAtMillis = write.record.renewedAtMillis;
  write.dataRule = core_.options.dataRule;
  write.tokenFloor = core_.tokens.floor;
  // A right that is won later than this is too short to be useful: half of it is left for the first renewal.
  const nanoseconds timeout = limited(core_.options.timing.leadsFor() / 2);
  core_.sendWrite(now, RequestKind::acquire, timeout, std::move(write));
  core_.inFlight->creates = observation.absent();
  core_.inFlight->inherits = observation.lacksTerms(core_.tokens.known);
  observation.tried();
}

NextRole Challenger::handle(const Instant& now, const WriteAnswer& answer) {
  const auto* conflict = std::get_if<Conflict>(&answer.outcome);
  const bool rejected = std::holds_alternative<Rejected>(answer.outcome);
  // A further look is needed if the write may have won, or if its answer does not show who won.
  lastRequest_ = {rejected || (conflict != nullptr && conflict->current), rejected};
  doubtsAfterWait_ += !lastRequest_.answered && waitIsOver(now) ? 1 : 0;
  NextRole next = acquireAnswered(now, answer.request, answer.outcome);
  if (core_.stopping && next.isStay() && !unanswered_.empty()) return release();
  return next;
}

NextRole Challenger::acquireAnswered(const Instant& now, const RequestInFlight& request, const WriteOutcome& outcome) {
  if (const auto* applied = std::get_if<Applied>(&outcome)) return acquired(now, request, *applied);
  if (const auto* conflict = std::get_if<Conflict>(&outcome)) return acquireLost(now, request, *conflict);
  if (const auto* rejected = std::get_if<Rejected>(&outcome)) {
    acquireFailed(now, rejected->error);
    core_.known.poll.postpone(now, cooldown_);
  } else {
    remember(request.unanswered());
    acquireFailed(now, std::get<Unknown>(outcome).error);
    core_.known.poll.hurry(now);  // it may have won: the record is read before anything else is done
  }
  return {};
}

/// I7 is checked and not assumed. If the token of a term does not rise, resources refuse its writes, or, worse, they do
/// not refuse the writes of older terms. This also happens without a fault, if a resource reported a higher token while
/// the write was under way.
NextRole Challenger::acquired(const Instant& now, const RequestInFlight& request, const Applied& applied) {
  if (!applied.warning.empty()) core_.log(LogLevel::warn, applied.warning);
  core_.tokens.known = std::max(core_.tokens.known, applied.token);
  if (applied.token > core_.tokens.floor || !wantsTerm()) return win(now, request.arrived(), applied.token);
  const std::string why = tooLow(applied.token, core_.tokens.floor);
  core_.log(LogLevel::warn, why);
  UnansweredWrite forNobody = request.arrived();  // released if the candidacy ends before the lease is won again
  forNobody.forNobody = true;
  remember(forNobody);
  acquireFailed(now, {ErrorClass::transient, why});
  core_.known.poll.hurry(now);
  return {};
}

NextRole Challenger::acquireLost(const Instant& now, const RequestInFlight& request, const Conflict& conflict) {
  if (conflict.current) {
    const std::optional<LeaseRecord>& current = *conflict.current;
    const bool itself = current && core_.isOwn(*current) && current->version == request.version && !current->released;
    if (itself) {
      keepPayload(current);
      return acquired(now, request, {current->token});
    }
    if (!core_.known.asReleased) loseRace(now);
    return observe(now, current, false);
  }
  if (!core_.known.asReleased) loseRace(now);
  remember(request.unanswered());
  readFirst_ = true;
  core_.known.poll.hurry(now);
  return {};
}

/// The record shows an acquisition of ours whose answer was lost: the right counts from before that request was sent
/// (I8). It is no right where another term was seen in between (I1). A floor that only a report has raised counts as in
/// acquired(), so this comes before the record's token is learned (I7).
std::optional<NextRole> Challenger::adoptOwnAcquire(const Instant& now, const LeaseRecord& record) {
  const UnansweredWrite* found = unanswered_.find(record.version);
  if (found == nullptr || found->forNobody || record.released) return std::nullopt;
  const SeenTokens& tokens = core_.tokens;
  if (tokens.floor > tokens.known && record.token <= tokens.floor && wantsTerm()) {
    core_.log(LogLevel::warn, tooLow(record.token, tokens.floor));
    unanswered_.disown(record.version);  // for good: the next read finds this token among those that were shown
    return std::nullopt;
  }
  if (core_.known.observation.mayHideATerm(now, record)) return std::nullopt;
  const UnansweredWrite won = *found;
  const TermState right{won.sentAt, won.right.leadsFor, won.right.validFor, record.token};
  if (!right.leadsAt(now) || !mayLead() || record.token < core_.tokens.floor) return std::nullopt;
  keepPayload(record);  // it may have been absent when the acquisition arrived, and not when it was seen last
  return win(now, won, record.token);
}

void Challenger::keepPayload(const std::optional<LeaseRecord>& record) {
  const bool none = !record || (record->data.empty() && record->attributes.empty());
  if (none || core_.options.observesOnly) return payload_.reset();
  if (payload_ && payload_->data == record->data && payload_->attributes == record->attributes) return;
  payload_ = std::make_unique<const LeasePayload>(LeasePayload{record->data, record->attributes});
}

/// What the record contains after the acquisition. `payload_` was seen with the version on which the acquisition was
/// conditioned; or the record was read since, and shows the acquisition itself.
std::shared_ptr<const LeasePayload> Challenger::takePayload() {
  const MachineOptions& options = core_.options;
  LeasePayload now;
  now.data = mergedData(options.dataRule, options.data, payload_ ? &payload_->data : nullptr);
  now.attributes = options.attributes.empty() && payload_ ? payload_->attributes : options.attributes;
  payload_.reset();
  core_.changes.recordHasPayload(now != LeasePayload{});
  if (now == LeasePayload{}) return nullptr;  // most records have none, and there are many
  return std::make_shared<const LeasePayload>(std::move(now));
}

/// Called with the answer to the acquiring write, or after a read has proved it.
NextRole Challenger::win(const Instant& now, const UnansweredWrite& won, FencingToken token) {
  HeldTerm term{won, token};
  core_.tokens.learn(token);
  core_.tokens.own = FencingToken{};
  core_.known.openCreations -= won.creates ? 1 : 0;
  unanswered_.clear();
  const FencingToken before = core_.known.observation.token();
  if (core_.options.oneTerm) core_.candidacy.beginTurn(*core_.options.oneTerm, now, token, before);
  // Known also of a term that is released at once: the next candidacy of this client asks what is in the record.
  auto payload = takePayload();
  if (!wantsTerm()) {
    if (!core_.ready)
      core_.log(LogLevel::info, "the lease was won and is released at once: this candidate is not ready");
    return {next::Release{std::move(term)}};
  }
  if (!term.right.leadsAt(now)) return winTooLate(now, token);
  follow(std::nullopt);
  return {next::Lead{std::move(term), std::move(payload), {core_.known.observation.history(), won.inherits, before}}};
}

/// An answer that comes after the end of the right starts no term. The lease has run out, so anybody may take it.
NextRole Challenger::winTooLate(const Instant& now, FencingToken token) {
  core_.publish(TermState{});
  core_.closeTerm(now, token);
  if (core_.options.oneTerm) return {next::Stop{ReleaseResult::notHeld}};
  enter(now, nanoseconds{0});
  core_.work.endsFrom = now;
  return {};
}

/// The observation so far still counts (I3). But a backoff and a read come first: a store whose reads succeed may still
/// refuse writes.
void Challenger::acquireFailed(const Instant& now, const StoreError& error) {
  core_.noteError(now, error);
  readFirst_ = true;
  const LeaseTiming& timing = core_.options.timing;
  const auto interval =
      std::min<nanoseconds>(core_.options.poll.value_or(nanoseconds{timing.heartbeat()}), longestInterval);
  holdOff(now, backoff(failures_, error.errorClass, interval, timing.duration(), core_.random()));
  failures_ = std::min(failures_ + 1, maxFailures);
}

/// After a lost race it waits, so that a store whose condition never holds is not asked without a pause. An attempt
/// without a read before it (asReleased) was no race: the conflict serves as the read, and the wait begins with the
/// next one.
void Challenger::loseRace(const Instant& now) {
  failures_ = 0;
  lostRaces_ = std::min(lostRaces_ + 1, maxLostRaces);
  holdOff(now, raceJitter());
}

void Challenger::remember(const UnansweredWrite& acquisition) {
  unanswered_.addWithin(maxPendingAcquires, acquisition);
  core_.known.openCreations += acquisition.creates ? 1 : 0;
}

}  // namespace tenure
