// The -wal and -shm files of a database that is gone. SQLite would take them for those of the database that is there
// now: it would read the old log into it, and share or truncate memory that others still have mapped.
#pragma once

#include <string>

#include "busy_wait.hpp"
#include "file_identity.hpp"
#include "unique_fd.hpp"

namespace tenure::sqlite_store {

/// Held while a database is made or leftovers are removed, so that nobody takes a fresh log for a leftover. A flock
/// on a file in the sidecar directory; ends with the object or the process.
class CreationLock {
 public:
  /// Waits as a call waits for the database's lock. 0 or an errno; EWOULDBLOCK: the call's time is over.
  [[nodiscard]] int take(const StoreFiles& files, BusyWait& wait);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // Once it is taken. 0 or an errno.

  /// The mark of the last making (NewDatabaseRule); empty if there was none.
  [[nodiscard]] int readMark(std::string& mark) const;
  [[nodiscard]] int writeMark(const std::string& mark) const;

 private:
  std::string path_;
  UniqueFd fd_;
};

/// Under a CreationLock, before a missing database is made: whatever log there is belongs to one that was deleted.
/// Does nothing if there is a database.
void removeLogOfMissingDatabase(const StoreFiles& files);

/// After the database was replaced: removes the log that belongs to the one that this process had open.
void removeLogOfReplacedDatabase(const StoreFiles& files, const OpenedFiles& before, BusyWait& wait);

}  // namespace tenure::sqlite_store
