// What the store does on a connection. Each function is one call of LeaseStore from start to end, or the
// sweep, on the thread of the session.
#pragma once

#include <string>

#include "busy_wait.hpp"
#include "lockcore/port/extended_store.hpp"
#include "session.hpp"

namespace tenure::sqlite_store {

inline constexpr std::size_t leasesOfAPage = 1'000;

[[nodiscard]] StoreStatus ensureSchema(Session& session);
[[nodiscard]] ReadOutcome readLease(Session& session, const LeaseKey& key);
[[nodiscard]] ListOutcome listLeases(Session& session, const std::string& prefix);
/// At most `leasesOfAPage` leases, beginning where `from` says.
[[nodiscard]] PageOutcome listPage(Session& session, const std::string& prefix, const std::string& from);
[[nodiscard]] WriteOutcome askStepDown(Session& session, const LeaseKey& key, const StepDownRequest& request,
                                       const Deadline& deadline);
[[nodiscard]] WriteOutcome removeLease(Session& session, const LeaseKey& key, const RecordVersion& version,
                                       const Deadline& deadline);

/// For an operator who corrects a lease's tokens.
[[nodiscard]] StoreResult<StoredTokens> readTokens(Session& session, const LeaseKey& key);

/// `Rejected` while another process holds a liveness file: it uses the store, and may be a holder.
[[nodiscard]] WriteOutcome setTokens(Session& session, const LeaseKey& key, const StoredTokens& expected,
                                     FencingToken token, const Deadline& deadline);

/// Removes what dead processes left beside the database. What cannot be checked is left for the next time.
void sweepSidecar(Session& session);

}  // namespace tenure::sqlite_store
