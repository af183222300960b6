#include "judge.hpp"

#include <utility>

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

}  // namespace tenure::postgresql_store
