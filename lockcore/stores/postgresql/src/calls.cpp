#include "calls.hpp"

#include <cstdint>
#include <utility>

#include "lockcore/port/write_purpose.hpp"
#include "statements.hpp"

namespace tenure::postgresql_store {
namespace {

/// The first column of the row that the deciding statement returned, and the row; null: none did.
const Row* decidingRow(const WriteJob& write, const JobReply& reply) {
  for (std::size_t at = write.decides; at < reply.rows.size(); ++at) {
    if (!reply.rows[at].empty() && !reply.rows[at].front().empty()) return &reply.rows[at].front();
  }
  return nullptr;
}

/// Whether each statement of the write was answered. If one was not, nobody knows what it did.
bool answeredWhole(const WriteJob& write, const JobReply& reply) {
  return reply.rows.size() >= write.job.statements.size();
}

/// One write from start to end. `applied` makes the outcome of a row that was changed.
struct Write {
  CorePtr core;
  Call call;
  WriteJob job;
  Expectation expectation;
  std::function<WriteOutcome(const Row& row, const JobReply& reply)> applied;
  std::optional<LeaseKey> told{};  ///< the lease, if listeners are told of the write
  /// Sent if the write is refused because somebody has locked the row.
  std::optional<Job> announcement{};
};

WriteOutcome outcomeOf(const Write& write, const JobReply& reply) {
  const Verdict verdict = verdictOnWrite(write.call, reply);
  const Row* const row = decidingRow(write.job, reply);
  if (verdict.fate == Fate::unknown && (row != nullptr || !answeredWhole(write.job, reply))) {
    return Unknown{verdict.error};
  }
  if (verdict.fate == Fate::committed && row != nullptr) {
    if (!tokenFrom(row->front())) return Unknown{errorOfToken(write.call)};
    return write.applied(*row, reply);
  }
  const auto error = verdict.fate == Fate::notApplied ? std::optional{verdict.error} : std::nullopt;
  auto found = leaseIn(*write.core, reply.after);
  if (found && found->has_error()) return Rejected{found->error()};
  std::optional<StoredLease> behind;
  if (found) behind = std::move(**found);
  return outcomeOfRefused(write.call, write.expectation, behind, error);
}

/// Writers that check the row (docs/postgresql.md) hold it FOR KEY SHARE. Where they overlap, there is always one, and
/// an acquisition that waited would not help: they overtake it. So it announces itself, which passes them. From then on
/// they refuse to begin, and one of the next attempts finds the row free. The answer stays that of the attempt,
/// whatever becomes of the announcement: it changes no version, so nobody begins to wait anew.
void announce(const Write& write, const Deadline& deadline, WriteOutcome refused, WriteHandler handler) {
  StoreCore::run(write.core, *write.announcement, deadline,
                 [refused = std::move(refused), handler = std::move(handler)](const JobReply& /*any*/) mutable {
                   handler(std::move(refused));
                 });
}

void perform(Write write, const Deadline& deadline, WriteHandler handler) {
  const CorePtr core = write.core;
  Job job = write.job.job;
  StoreCore::run(core, std::move(job), deadline,
                 [write = std::make_shared<Write>(std::move(write)), deadline,
                  handler = std::move(handler)](const JobReply& reply) mutable {
                   WriteOutcome outcome = outcomeOf(*write, reply);
                   if (write->told) tellOf(*write->core, *write->told, outcome);
                   const bool announces =
                       write->announcement && wasKeptOut(reply) && std::holds_alternative<Rejected>(outcome);
                   if (announces) return announce(*write, deadline, std::move(outcome), std::move(handler));
                   handler(std::move(outcome));
                 });
}

/// The row before the write; null: there was none.
const Row* lockedRow(const JobReply& reply) {
  return reply.rows.empty() || reply.rows.front().empty() ? nullptr : &reply.rows.front().front();
}

std::optional<KnownTokens> tokensBefore(const JobReply& reply) {
  const Row* const locked = lockedRow(reply);
  return locked != nullptr ? lockedTokensFrom(*locked) : std::nullopt;
}

WriteOutcome acquired(const Call& call, const WriteRequest& request, const Row& row, const JobReply& reply) {
  Applied applied{tokenFrom(row.front()).value_or(FencingToken{})};
  const auto before = tokensBefore(reply);
  const auto history = before ? (*lockedRow(reply))[lockedPresentHistoryColumn] : Value{};
  applied.warning = warningOf(call, request, before, history, applied.token);
  return applied;
}

WriteOutcome removed(const Row& row, const JobReply& reply) {
  const auto before = tokensBefore(reply);
  return Applied{before ? FencingToken{static_cast<std::uint64_t>(before->copy)}
                        : tokenFrom(row.front()).value_or(FencingToken{})};
}

WriteOutcome kept(const Row& row, const JobReply& /*reply*/) {
  return Applied{tokenFrom(row.front()).value_or(FencingToken{}), row.size() > 1 && row[1] == "t"};
}

}  // namespace

std::optional<StoreResult<StoredLease>> leaseIn(const StoreCore& core, const std::vector<std::vector<Row>>& rows) {
  if (rows.empty() || rows.front().empty()) return std::nullopt;
  return leaseFrom(core.place(), rows.front().front());
}

/// Called before the handler, which may end the store.
void tellOf(const StoreCore& core, const LeaseKey& key, const WriteOutcome& outcome) {
  const bool mayHaveChanged = std::holds_alternative<Applied>(outcome) || std::holds_alternative<Unknown>(outcome);
  if (mayHaveChanged) core.notifier().tell(key);
}

void readLease(const CorePtr& core, const LeaseKey& key, const Deadline& deadline, ReadHandler handler) {
  StoreCore::run(core, Jobs::read(key), deadline, [core, key, handler = std::move(handler)](const JobReply& reply) {
    const Call call = core->call("reading lease " + toString(key));
    if (auto fault = faultOfRead(call, reply)) return handler(std::move(*fault));
    const auto found = leaseIn(*core, reply.rows);
    if (!found) return handler(errorOf(call, JobReply::Cause::transient, "the answer has no row"));
    if (found->has_error()) return handler(found->error());
    handler((*found)->told());
  });
}

void writeLease(const CorePtr& core, WriteRequest request, const Deadline& deadline, WriteHandler handler) {
  const Call call = core->call(std::string{doing(request.purpose)} + " lease " + toString(request.key));
  Write write{core, call, Jobs::write(request), expectationOf(request), {}};
  if (request.purpose != WriteRequest::Purpose::renew) write.told = request.key;
  if (request.purpose == WriteRequest::Purpose::acquire) {
    // Without an expectation there is no term that it could follow.
    if (!request.expected.empty()) write.announcement = Jobs::announce(request);
    write.applied = [call, request = std::move(request)](const Row& row, const JobReply& reply) {
      return acquired(call, request, row, reply);
    };
  } else {
    write.applied = request.removes ? removed : kept;
  }
  perform(std::move(write), deadline, std::move(handler));
}

void removeLease(const CorePtr& core, const LeaseKey& key, const RecordVersion& version, const Deadline& deadline,
                 WriteHandler handler) {
  Write write{core,
              core->call("removing the record of lease " + toString(key)),
              Jobs::remove(key, version),
              expectationOf(version),
              removed,
              key};
  perform(std::move(write), deadline, std::move(handler));
}

void askToStepDown(const CorePtr& core, const LeaseKey& key, FencingToken token, const Deadline& deadline,
                   WriteHandler handler) {
  Write write{core,
              core->call("asking the holder of lease " + toString(key) + " to step down"),
              Jobs::askToStepDown(key, token),
              expectationOf(token),
              [token](const Row&, const JobReply&) {
                return Applied{token, true};
              },
              key};
  perform(std::move(write), deadline, std::move(handler));
}

}  // namespace tenure::postgresql_store
