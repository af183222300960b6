// A database where there is none: whether it may be created (the steps N1 to N5 of NewDatabaseRule, done on the files),
// and what a former one left behind.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tenure/lockcore/store_error.hpp>

#include "busy_wait.hpp"
#include "file_identity.hpp"
#include "new_database_rule.hpp"
#include "sidecar/sidecar.hpp"

namespace tenure::sqlite_store {

/// The view of one session. Not thread-safe.
class NewDatabase {
 public:
  NewDatabase(std::string store, std::shared_ptr<const Sidecar> sidecar)
      : store_{std::move(store)}, sidecar_{std::move(sidecar)} {}

  /// To be called with the lock held, right after a look that found no database. No error: the caller creates a
  /// database before it releases the lock. Otherwise a transient error that says which holder is waited for and how
  /// long, or what is in the way. `asker` is the term that the database is created for; null: none.
  [[nodiscard]] std::optional<StoreError> errorOf(const StoreFiles& files, CreationLock& lock, const TermName* asker);

  void sawOne() noexcept { rule_.sawOne(); }

 private:
  const std::string store_;
  const std::shared_ptr<const Sidecar> sidecar_;
  NewDatabaseRule rule_;
};

// The -wal and -shm files of a database that is gone. SQLite would take them for those of the database that now has
// this name: it would apply the old log to it, and share or truncate memory that others still have mapped.

/// To be called under a CreationLock, before a missing database is created: any log that exists belongs to a deleted
/// database. Does nothing if there is a database.
void removeLogOfMissingDatabase(const StoreFiles& files);

/// To be called after the database was replaced: removes the log that belongs to the database that this process had
/// open.
void removeLogOfReplacedDatabase(const StoreFiles& files, const OpenedFiles& before, BusyWait& wait);

}  // namespace tenure::sqlite_store
