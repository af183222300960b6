// Rows of tenure_lease as records, and back.
#pragma once

#include <string>

#include <tenure/lockcore/lease_key.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure::sqlite_store {

class Statement;

/// The columns that `recordFrom` expects, in its order, from column `firstRecordColumn` on.
inline constexpr const char* recordColumns =
    "state, holder, token, lease_ms, record_version, acquired_at_ms, renewed_at_ms, "
    "beacon_id, beacon_device, beacon_inode, boot_id, data, attributes, step_down_token";

/// What a row says.
struct StoredRecord {
  LeaseRecord record;
  FencingToken stepDown{};  ///< the term that was asked to step down
};

/// A `corrupt` error naming the lease and the column if the row cannot be what this library wrote.
[[nodiscard]] StoreResult<StoredRecord> recordFrom(const std::string& store, const LeaseKey& key, const Statement& row,
                                                   int firstColumn);

}  // namespace tenure::sqlite_store
