// The tables, and what is done when they are missing or not ours to touch.
#pragma once

#include <cstdint>
#include <string>

#include <tenure/lockcore/store_error.hpp>

namespace tenure::sqlite_store {

class Connection;

/// Kept in tenure_meta, not in PRAGMA user_version: the file may hold users' own tables, whose number that is.
inline constexpr std::int64_t schemaVersion = 1;

/// False if there are no tables of ours (yet). An error for a newer version, a file that is no database, an encoding
/// other than UTF-8.
[[nodiscard]] StoreResult<bool> hasSchema(const std::string& store, Connection& connection);

/// Makes the tables in one transaction. Safe in several processes at once.
[[nodiscard]] StoreResult<void> createSchema(const std::string& store, Connection& connection);

}  // namespace tenure::sqlite_store
