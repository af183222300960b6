// LeaseStore::readTokens and setTokens: what an operator does who sets a lease's tokens right.
#pragma once

#include <tenure/lockcore/lease_store.hpp>

#include "deadline.hpp"
#include "session.hpp"

namespace tenure::sqlite_store {

[[nodiscard]] StoreResult<StoredTokens> readTokens(Session& session, const LeaseKey& key);

/// `Rejected` while a process other than this one holds a beacon: it uses the store, and may be a holder.
[[nodiscard]] WriteOutcome setTokens(Session& session, const LeaseKey& key, const StoredTokens& expected,
                                     FencingToken token, const std::string& ownBeacon, const Deadline& deadline);

}  // namespace tenure::sqlite_store
