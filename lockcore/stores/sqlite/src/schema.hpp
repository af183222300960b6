// The tables, and what is done when they are missing or not ours to touch.
#pragma once

#include <cstdint>
#include <string>

#include <tenure/lockcore/store_error.hpp>

namespace tenure::sqlite_store {

class Connection;

/// Kept in tenure_meta, not in PRAGMA user_version: the file may hold users' own tables, whose number that is.
inline constexpr std::int64_t schemaVersion = 1;

/// What there is of our tables.
struct Schema {
  bool complete{false};      ///< all of them; one that was dropped counts as a database that is gone
  bool partial{false};       ///< some of them
  bool hasOpenLease{false};  ///< tenure_fence has the column lease_ms, which the first releases did not make
};

/// An error for a newer version, tables of another shape, a file that is no database, an encoding other than UTF-8.
[[nodiscard]] StoreResult<Schema> lookAtSchema(const std::string& store, Connection& connection);

/// Makes what is missing, in one transaction. Safe in several processes at once.
[[nodiscard]] StoreResult<void> createSchema(const std::string& store, Connection& connection);

}  // namespace tenure::sqlite_store
