// LeaseStore::readTokens and setTokens, with which an operator corrects a lease's tokens.
#pragma once

#include <tenure/lockcore/lease_store.hpp>

#include "deadline.hpp"
#include "session.hpp"

namespace tenure::sqlite_store {

[[nodiscard]] StoreResult<StoredTokens> readTokens(Session& session, const LeaseKey& key);

/// `Rejected` while another process holds a liveness file: it uses the store, and may be a holder.
[[nodiscard]] WriteOutcome setTokens(Session& session, const LeaseKey& key, const StoredTokens& expected,
                                     FencingToken token, const Deadline& deadline);

}  // namespace tenure::sqlite_store
