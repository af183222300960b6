#include "calls.hpp"

#include <cstdint>
#include <utility>

#include "lockcore/port/write_purpose.hpp"
#include "statements.hpp"

namespace tenure::postgresql_store {
namespace {

/// The row of the statement that has changed something; null: none did.
const Row* changedRow(const JobReply& reply) {
  for (const auto& rows : reply.rows) {
    if (!rows.empty() && !rows.front().empty()) return &rows.front();
  }
  return nullptr;
}

/// One write from start to end. `applied` makes the outcome of a row that was changed.
struct Write {
  CorePtr core;
  Call call;
  LeaseKey key;
  Job job;
  Expectation expectation;
  std::function<WriteOutcome(const Row& row)> applied;
  bool told{true};  ///< to listeners
  /// Sent if the write is refused because somebody has locked the row.
  std::optional<Job> announcement{};
};

/// Empty: it met a row that it does not change. If a statement was not answered, nobody knows what it did.
std::optional<WriteOutcome> outcomeOf(const Write& write, const JobReply& reply) {
  const Verdict verdict = verdictOnWrite(write.call, reply);
  if (verdict.fate == Fate::notApplied) return Rejected{verdict.error};
  const Row* const row = changedRow(reply);
  if (verdict.fate == Fate::committed && row != nullptr) {
    if (!tokenFrom(row->front())) return Unknown{errorOfToken(write.call)};
    return write.applied(*row);
  }
  const bool answeredWhole = reply.rows.size() >= write.job.statements.size();
  if (verdict.fate == Fate::unknown && (row != nullptr || !answeredWhole)) return Unknown{verdict.error};
  return std::nullopt;
}

/// The row says why the write was refused.
void judgeByRow(const std::shared_ptr<Write>& write, const Deadline& deadline, WriteHandler handler) {
  StoreCore::run(write->core, Jobs::read(write->key), deadline,
                 [write, handler = std::move(handler)](const JobReply& reply) {
                   auto found = leaseIn(*write->core, reply.rows);
                   if (found && found->has_error()) return handler(Rejected{found->error()});
                   std::optional<StoredLease> row;
                   if (found) row = std::move(**found);
                   handler(outcomeOfRefused(write->call, write->expectation, row));
                 });
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

void perform(Write given, const Deadline& deadline, WriteHandler handler) {
  const auto write = std::make_shared<Write>(std::move(given));
  StoreCore::run(write->core, write->job, deadline,
                 [write, deadline, handler = std::move(handler)](const JobReply& reply) mutable {
                   auto outcome = outcomeOf(*write, reply);
                   if (!outcome) return judgeByRow(write, deadline, std::move(handler));
                   if (write->told) tellOf(*write->core, write->key, *outcome);
                   const bool announces =
                       write->announcement && wasKeptOut(reply) && std::holds_alternative<Rejected>(*outcome);
                   if (announces) return announce(*write, deadline, std::move(*outcome), std::move(handler));
                   handler(std::move(*outcome));
                 });
}

WriteOutcome acquired(const Call& call, const WriteRequest& request, const Row& row) {
  Applied applied{tokenFrom(row.front()).value_or(FencingToken{})};
  const auto before = tokensBefore(row);
  const auto history = before ? row[takenHistoryColumn] : Value{};
  applied.warning = warningOf(call, request, before, history, applied.token);
  return applied;
}

WriteOutcome kept(const Row& row) {
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
  Write write{core, call, request.key, Jobs::write(request), expectationOf(request), kept};
  write.told = request.purpose != WriteRequest::Purpose::renew;
  if (request.purpose == WriteRequest::Purpose::acquire) {
    // Without an expectation there is no term that it could follow.
    if (!request.expected.empty()) write.announcement = Jobs::announce(request);
    write.applied = [call, request = std::move(request)](const Row& row) { return acquired(call, request, row); };
  }
  perform(std::move(write), deadline, std::move(handler));
}

void removeLease(const CorePtr& core, const LeaseKey& key, const RecordVersion& version, const Deadline& deadline,
                 WriteHandler handler) {
  Write write{core,
              core->call("removing the record of lease " + toString(key)),
              key,
              Jobs::remove(key, version),
              expectationOf(version),
              kept};
  perform(std::move(write), deadline, std::move(handler));
}

void askToStepDown(const CorePtr& core, const LeaseKey& key, FencingToken token, const Deadline& deadline,
                   WriteHandler handler) {
  Write write{core,
              core->call("asking the holder of lease " + toString(key) + " to step down"),
              key,
              Jobs::askToStepDown(key, token),
              expectationOf(token),
              [token](const Row&) {
                return Applied{token, true};
              }};
  perform(std::move(write), deadline, std::move(handler));
}

}  // namespace tenure::postgresql_store
