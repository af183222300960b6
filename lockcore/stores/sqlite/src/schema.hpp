// The tables, and what is done when they are missing or belong to somebody else.
#pragma once

#include <cstdint>
#include <string>

#include <tenure/lockcore/store_error.hpp>

namespace tenure::sqlite_store {

class Connection;

/// Kept in tenure_meta, not in PRAGMA user_version: the file may hold users' own tables, and that number belongs to
/// them.
inline constexpr std::int64_t schemaVersion = 1;

/// Which of our tables exist.
struct Schema {
  bool complete{false};      ///< all of them exist; a dropped one counts as a database that is gone
  bool partial{false};       ///< some of them
  bool hasOpenLease{false};  ///< tenure_fence has the column lease_ms, which the first releases did not create
};

/// An error for a newer version, for tables of another shape, for a file that is no database, and for an encoding other
/// than UTF-8.
[[nodiscard]] StoreResult<Schema> lookAtSchema(const std::string& store, Connection& connection);

/// Creates what is missing, in one transaction. Safe in several processes at once.
[[nodiscard]] StoreResult<void> createSchema(const std::string& store, Connection& connection);

}  // namespace tenure::sqlite_store
