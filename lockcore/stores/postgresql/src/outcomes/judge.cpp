#include "judge.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <tenure/lockcore/store_checks.hpp>

namespace tenure::postgresql_store {
namespace {

using Commit = JobReply::Commit;

StoreError errorIn(const Call& call, const JobReply& reply) {
  if (reply.error) return errorOf(call, *reply.error);
  return errorOf(call, reply.cause, reply.trouble);
}

/// Every server of this protocol says so in a severity that is not translated.
bool endsConnection(const Complaint& complaint) { return complaint.severity != "ERROR"; }

/// What stands between here and the server says that it has lost the server, or whoever answers does not know what
/// became of the COMMIT. The COMMIT is under way when the first error is seen, so it may have been carried out.
bool leavesOpen(const Complaint& complaint) {
  return endsConnection(complaint) || complaint.sqlState.starts_with("08") || complaint.sqlState == "40003";
}

bool isExpected(const std::vector<RecordVersion>& expected, const LeaseRecord& stored, bool acquires) {
  return std::any_of(expected.begin(), expected.end(), [&](const RecordVersion& version) {
    if (version != stored.version) return false;
    if (version.history().empty()) return !acquires || !stored.inherited;
    return version.history() == stored.version.history();
  });
}

/// The row that was read behind the write is as expected, so it was not when the write met it, or somebody had locked
/// it.
StoreError disturbed(const Call& call) {
  return {ErrorClass::transient,
          call.store + ": " + call.doing +
              ": another transaction was at work on the lease's row. If that happens often, look "
              "for a transaction that holds it for long (pg_locks)"};
}

StoreError notSeen(const Call& call) {
  return {ErrorClass::transient,
          call.store + ": " + call.doing + ": nothing was written, and the answer that tells why did not come"};
}

/// Why an acquisition that met what it expects got no token; empty: its token was possible.
std::optional<StoreError> refusalOfToken(const WriteRequest& request, const StoredLease& row) {
  const auto known = row.exists ? std::optional{row.tokens} : std::nullopt;
  const TokenPlan plan = planToken(known, request.tokenFloor, row.presentHistory);
  if (auto refused = refusalOfFloor(request, FencingToken{plan.least.value() - 1})) return refused;
  if (plan.token > maxFencingToken) return tokensExhausted(request.key);
  return std::nullopt;
}

/// Why a renewal that met what it expects was refused; empty: no reason is known. That is no conflict, because nobody
/// has the lease yet. The holder's lease has ended: somebody else has waited it out. So it tries again to no avail, and
/// is out of its term on time. An announcement raises the counter by one.
std::optional<StoreError> refusalOfOverTerm(const Call& call, const StoredLease& row) {
  const std::int64_t counter = row.tokens.counter;
  const std::int64_t copy = row.tokens.copy;
  if (counter <= copy) return std::nullopt;
  const std::string why =
      counter == copy + 1 ? "another candidate has waited out its lease and has announced that it takes the lease over"
                          : "its token " + std::to_string(copy) + " is below the counter " + std::to_string(counter) +
                                ": somebody changed one of them by hand, or put an older copy back. The next term "
                                "puts it right";
  return StoreError{ErrorClass::transient, call.store + ": " + call.doing + ": the term is over, because " + why};
}

bool meetsExpectation(const WriteRequest& request, const std::optional<LeaseRecord>& stored) {
  const bool acquires = request.purpose == WriteRequest::Purpose::acquire;
  if (!stored) return acquires && request.expected.empty();
  if (!acquires && (stored->vanished || stored->holder != request.record.holder)) return false;
  return isExpected(request.expected, *stored, acquires);
}

}  // namespace

Verdict verdictOnWrite(const Call& call, const JobReply& reply) {
  switch (reply.commit) {
    case Commit::notSent:
      return {Fate::notApplied, errorIn(call, reply)};
    case Commit::rolledBack:
      if (reply.error && leavesOpen(*reply.error)) return {Fate::unknown, errorIn(call, reply)};
      return {Fate::notApplied, errorIn(call, reply)};
    case Commit::unanswered:
      return {Fate::unknown, errorIn(call, reply)};
    case Commit::done:
      break;
  }
  if (reply.warnings.empty()) return {Fate::committed, {}};
  StoreError error = errorOf(call, reply.warnings.front());
  error.errorClass = ErrorClass::transient;
  error.message += ". It may be lost if this server is";
  return {Fate::unknown, std::move(error)};
}

std::optional<StoreError> faultOfRead(const Call& call, const JobReply& reply) {
  if (reply.commit == Commit::done) return std::nullopt;
  return errorIn(call, reply);
}

bool mayGoWithoutHistory(const Job& job, const JobReply& reply) noexcept {
  return job.history && reply.commit == Commit::rolledBack && reply.error && !endsConnection(*reply.error) &&
         mayLackHistory(*reply.error);
}

bool wasKeptOut(const JobReply& reply) noexcept {
  return reply.commit == Commit::rolledBack && reply.error && reply.error->sqlState == "55P03" && reply.rows.empty();
}

Expectation expectationOf(const WriteRequest& request) {
  const bool acquires = request.purpose == WriteRequest::Purpose::acquire;
  Expectation expectation{
      [request](const std::optional<LeaseRecord>& stored) { return meetsExpectation(request, stored); }, acquires,
      request.record.version};
  if (acquires) {
    expectation.refusal = [request](const Call&, const StoredLease& row) { return refusalOfToken(request, row); };
  } else if (request.purpose == WriteRequest::Purpose::renew) {
    expectation.refusal = refusalOfOverTerm;
  }
  return expectation;
}

Expectation expectationOf(const RecordVersion& version) {
  return {[version](const std::optional<LeaseRecord>& stored) {
            return stored && !stored->vanished && isExpected({version}, *stored, false);
          },
          true};
}

Expectation expectationOf(FencingToken token) {
  return {[token](const std::optional<LeaseRecord>& stored) {
    return stored && !stored->vanished && !stored->released && stored->token == token;
  }};
}

WriteOutcome outcomeOfRefused(const Call& call, const Expectation& expectation, const std::optional<StoredLease>& row) {
  if (!row) return Rejected{notSeen(call)};
  if (expectation.needsCounter && row->counter.has_error()) return Rejected{row->counter.error()};
  ReadOutcome stored = row->told();
  if (stored.has_error()) return Rejected{stored.error()};
  if (*stored && !expectation.ownVersion.isNone() && (*stored)->version == expectation.ownVersion) return Conflict{};
  if (!expectation.holds(*stored)) return Conflict{std::move(*stored)};
  if (auto refused = expectation.refusal ? expectation.refusal(call, *row) : std::nullopt)
    return Rejected{std::move(*refused)};
  return Rejected{disturbed(call)};
}

std::string warningOf(const Call& call, const WriteRequest& request, const std::optional<KnownTokens>& before,
                      const std::optional<std::string>& presentHistory, FencingToken token) {
  const std::string lease = call.store + ": ";
  const std::string name = "lease " + toString(request.key);
  if (before && before->history != presentHistory) {
    return lease + "the history of the server has changed from " + before->history.value_or("an unknown one") + " to " +
           presentHistory.value_or("an unknown one") + " since the last term of " + name +
           ": a standby was promoted, or the data was copied from another server. Commits may be lost, so the tokens "
           "go "
           "on from " +
           toString(token);
  }
  const FencingToken counter{static_cast<std::uint64_t>(std::max<std::int64_t>(before ? before->counter : 0, 0))};
  const FencingToken copy{static_cast<std::uint64_t>(std::max<std::int64_t>(before ? before->copy : 0, 0))};
  const FencingToken seen = std::max(request.tokenFloor, copy);
  if (counter >= seen) return {};
  return lease + "the fencing counter of " + name + " was " +
         (counter.isNone() ? "missing" : "at " + toString(counter)) + " and was restored to " + toString(seen) +
         "; somebody changed the table, or put an older copy back, or a resource has seen a higher token";
}

}  // namespace tenure::postgresql_store
