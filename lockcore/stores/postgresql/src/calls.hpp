// The store's calls, but for renewals that share a transaction. Each answers once.
#pragma once

#include <cstddef>
#include <string>

#include <tenure/lockcore/lease_store.hpp>

#include "store_core.hpp"

namespace tenure::postgresql_store {

void readLease(const CorePtr& core, const LeaseKey& key, const Deadline& deadline, ReadHandler handler);
void writeLease(const CorePtr& core, WriteRequest request, const Deadline& deadline, WriteHandler handler);
void removeLease(const CorePtr& core, const LeaseKey& key, const RecordVersion& version, const Deadline& deadline,
                 WriteHandler handler);
void askToStepDown(const CorePtr& core, const LeaseKey& key, FencingToken token, const Deadline& deadline,
                   WriteHandler handler);

/// An operator's correction (token_recovery.cpp).
void readTokens(const CorePtr& core, const LeaseKey& key, const Deadline& deadline, TokensHandler handler);
void setTokens(const CorePtr& core, const LeaseKey& key, const StoredTokens& expected, FencingToken token,
               const Deadline& deadline, WriteHandler handler);

/// listing.cpp. `from` as in LeaseStore::listPage().
void listLeases(const CorePtr& core, const std::string& prefix, const Deadline& deadline, ListHandler handler);
void listPage(const CorePtr& core, const std::string& prefix, const std::string& from, const Deadline& deadline,
              PageHandler handler);

inline constexpr std::size_t leasesOfAPage = 256;

/// schema.cpp
void ensureSchema(const CorePtr& core, const Deadline& deadline, StatusHandler handler);

/// Tells listeners of a write that may have changed the lease.
void tellOf(const StoreCore& core, const LeaseKey& key, const WriteOutcome& outcome);

/// The row of a read; empty: it was not answered.
[[nodiscard]] std::optional<StoreResult<StoredLease>> leaseIn(const StoreCore& core,
                                                              const std::vector<std::vector<Row>>& rows);

}  // namespace tenure::postgresql_store
