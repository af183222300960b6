// The -wal and -shm files of a database that is gone. SQLite would take them for those of the database that now has
// this name: it would apply the old log to it, and share or truncate memory that others still have mapped.
#pragma once

#include <string>

#include "busy_wait.hpp"
#include "file_identity.hpp"
#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::sqlite_store {

/// Held while a database is created or leftovers are removed, so that nobody takes a fresh log for a leftover. It is a
/// flock on a file in the sidecar directory, and ends with the object or the process.
class CreationLock {
 public:
  /// Waits as a call waits for the database's lock. Returns 0 or an errno; EWOULDBLOCK: the call's time is over.
  [[nodiscard]] int take(const StoreFiles& files, BusyWait& wait);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // Only after take(). Return 0 or an errno.

  /// The mark of the last creation (NewDatabaseRule); empty if there was none.
  [[nodiscard]] int readMark(std::string& mark) const;
  [[nodiscard]] int writeMark(const std::string& mark) const;

 private:
  std::string path_;
  UniqueFd fd_;
};

/// To be called under a CreationLock, before a missing database is created: any log that exists belongs to a deleted
/// database. Does nothing if there is a database.
void removeLogOfMissingDatabase(const StoreFiles& files);

/// To be called after the database was replaced: removes the log that belongs to the database that this process had
/// open.
void removeLogOfReplacedDatabase(const StoreFiles& files, const OpenedFiles& before, BusyWait& wait);

}  // namespace tenure::sqlite_store
