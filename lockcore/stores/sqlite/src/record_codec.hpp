// Rows of tenure_lease and tenure_fence as values.
#pragma once

#include <string>

#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/register.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "lockcore/sqlite/statement.hpp"

namespace tenure::sqlite_store {

using sqlite::Statement;

/// The columns that `recordFrom` expects, in its order, from a tenure_lease with the alias `lease`.
inline constexpr const char* recordColumns =
    "lease.state, lease.holder, lease.token, lease.lease_ms, lease.record_version, lease.acquired_at_ms, "
    "lease.renewed_at_ms, lease.beacon_id, lease.beacon_device, lease.beacon_inode, lease.boot_id, lease.data, "
    "lease.attributes, lease.step_down_token";

/// Three columns: whether there is a row, token, lease_ms.
inline constexpr int counterColumnCount = 3;

/// No token if there is no row. A `corrupt` error that names the lease and the column if this library cannot have
/// written the row: an open term must not be taken for none.
[[nodiscard]] StoreResult<stored::Counter> counterFrom(const std::string& store, const LeaseKey& key,
                                                       const Statement& row, int firstColumn);

/// A `corrupt` error that names the lease and the column if this library cannot have written the row.
[[nodiscard]] StoreResult<stored::StoredRecord> recordFrom(const std::string& store, const LeaseKey& key,
                                                           const Statement& row, int firstColumn);

}  // namespace tenure::sqlite_store
