#include "machine_core.hpp"

#include <algorithm>
#include <utility>

#include "lockcore/port/random_draws.hpp"

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

nanoseconds RequestInFlight::overdueIn(const Instant& now) const noexcept {
  return timeout + timeout / 8 + milliseconds{5} - elapsedForHolder(sentAt, now);
}

void SeenTokens::learn(FencingToken shown) {
  known = std::max(known, shown);
  floor = std::max(floor, shown);
}

void SeenTokens::recall(const LeaseMemory::Tokens& tokens) {
  learn(tokens.known);
  floor = std::max(floor, tokens.floor);
  own = std::max(own, tokens.own);
}

FencingToken SeenTokens::highestBelievable() const {
  return std::min(FencingToken{known.value() + maxReportedStep}, maxFencingToken);
}

MachineCore::MachineCore(MachineOptions machineOptions, RandomSource& random)
    : options{std::move(machineOptions)},
      known{.poll = {options.poll.value_or(options.timing.heartbeat()), options.timing.duration()}},
      random_{&random} {}

void MachineCore::sendRead(const Instant& now, nanoseconds timeout, bool mayBeLate) {
  inFlight = RequestInFlight{++lastAttempt_, RequestKind::read, now, timeout};
  inFlight->hinted = std::exchange(known.hinted, false);
  act(action::SendRead{lastAttempt_, timeout, mayBeLate});
}

WriteRequest MachineCore::draft(WriteRequest::Purpose purpose, FencingToken token,
                                std::vector<RecordVersion> expected) {
  const RecordVersion version{uuid4(*random_)};
  return {options.key, purpose, std::move(expected), ownRecord(version, token), FencingToken{}};
}

void MachineCore::sendWrite(const Instant& now, RequestKind kind, nanoseconds timeout, WriteRequest write) {
  const RecordVersion& version = write.record.version;
  WrittenRight right{options.timing.leadsFor(), options.timing.validFor(), 0, options.timing.duration()};
  changes.stateIn(right);
  inFlight = RequestInFlight{++lastAttempt_, kind, now, timeout, version, false, right};
  sentVersions.add(version);
  act(action::SendWrite{lastAttempt_, std::move(write), timeout});
}

std::optional<RequestInFlight> MachineCore::takeRead(Attempt attempt) {
  if (!inFlight || inFlight->attempt != attempt || inFlight->kind != RequestKind::read) return std::nullopt;
  return std::exchange(inFlight, std::nullopt);
}

std::optional<RequestInFlight> MachineCore::takeWrite(Attempt attempt, const WriteOutcome& outcome) {
  if (!inFlight || inFlight->attempt != attempt || inFlight->kind == RequestKind::read) return std::nullopt;
  if (std::holds_alternative<Rejected>(outcome)) sentVersions.takeBack();
  return std::exchange(inFlight, std::nullopt);
}

LeaseRecord MachineCore::ownRecord(RecordVersion version, FencingToken token) const {
  LeaseRecord record;
  record.holder = options.holder;
  record.version = std::move(version);
  record.leaseDuration = options.timing.duration();
  record.token = token;
  if (livenessFile) record.livenessFile = *livenessFile;
  record.acquiredAtMillis = acquiredAtMillis;
  record.renewedAtMillis = displayTime();
  return record;
}

void MachineCore::publish(const TermState& term) {
  told.term = term;
  act(action::Publish{term});
}

void MachineCore::setLeader(const Instant& now, const std::optional<LeaderInfo>& leader) {
  const bool first = !told.leaderSeenAt;
  told.leaderSeenAt = now;
  if (!first && told.leader == leader) return;
  told.leader = leader;
  act(action::LeaderChanged{leader});
}

void MachineCore::noteError(const Instant& now, const StoreError& error) {
  told.error = error;
  told.errorAt = now;
}

bool MachineCore::leaveOutData(const Instant& now, const WrittenRight& right, const StoreError& error) {
  if (mayPass(error) || !changes.leaveOut(right, error)) return false;
  noteError(now, error);
  log(LogLevel::warn, "the store refuses the data for the record, so the record stays without them: " + error.message);
  return true;
}

void MachineCore::answerRenews(std::uint64_t ticket, action::Recorded::Outcome outcome) {
  const bool refused = outcome == action::Recorded::Outcome::refused;
  const auto first = changes.answer(ticket);
  if (first) act(action::Recorded{*first, ticket, outcome, refused ? changes.error() : std::nullopt});
}

void MachineCore::answerRenews(const WrittenRight& written) {
  using Outcome = action::Recorded::Outcome;
  answerRenews(written.ticket, written.leavesOut ? Outcome::refused : Outcome::recorded);
}

/// If another one holds the lease, the next candidacy of this client waits for it, also where the store has lost that
/// term meanwhile. So does one after a candidacy that held nothing, for what that one saw.
void MachineCore::closeTerm(const Instant& now, FencingToken token, const std::optional<LeaseRecord>* found) {
  candidacy.endTurn(now, token);
  inFlight.reset();
  known.asReleased = false;
  if (!token.isNone()) known.observation.forget(token);
  const bool shown = options.oneTerm && found != nullptr && *found;
  if (shown && !isOwn(**found)) known.observation.confirm(now, *found, false);
  answerRenews(changes.ticket(), action::Recorded::Outcome::unknown);
  changes.forget();
}

std::shared_ptr<const LeaseMemory> MachineCore::memory() const {
  return std::make_shared<const LeaseMemory>(known.observation,
                                             LeaseMemory::Tokens{tokens.known, tokens.floor, tokens.own},
                                             sentVersions.all(), known.asReleased, candidacy.turn());
}

LeaderInfo MachineCore::leaderOf(const LeaseRecord& record) {
  if (options.statementIn == nullptr || record.data.empty()) {
    stated_.reset();
    return {record.holder, record.token};
  }
  if (!stated_ || stated_->term != record.token || stated_->data != record.data) {
    stated_ = std::make_unique<const Stated>(
        Stated{record.token, record.data, options.statementIn(record.data, record.token)});
  }
  return {record.holder, record.token, false, stated_->statement.address, stated_->statement.priority};
}

bool MachineCore::wrote(const LeaseRecord& record) const { return isOwn(record) && sentVersions.has(record.version); }

/// True if the store's counter describes a term of this candidate that it knows to be over.
bool MachineCore::leftByOwnTerm(const LeaseRecord& record) const {
  return record.vanished && !tokens.own.isNone() && record.token == tokens.own;
}

std::int64_t MachineCore::displayTime() const { return options.displayClock != nullptr ? options.displayClock() : 0; }

nanoseconds MachineCore::jittered(nanoseconds wait) { return tenure::jittered(*random_, wait); }

std::optional<nanoseconds> earlier(std::optional<nanoseconds> one, std::optional<nanoseconds> other) noexcept {
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

}  // namespace tenure
