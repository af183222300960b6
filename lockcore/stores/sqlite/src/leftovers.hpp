// The -wal and -shm files of a database that is gone. SQLite would take them for those of the database that now has
// this name: it would apply the old log to it, and share or truncate memory that others still have mapped.
#pragma once

#include "busy_wait.hpp"
#include "file_identity.hpp"

namespace tenure::sqlite_store {

/// To be called under a CreationLock, before a missing database is created: any log that exists belongs to a deleted
/// database. Does nothing if there is a database.
void removeLogOfMissingDatabase(const StoreFiles& files);

/// To be called after the database was replaced: removes the log that belongs to the database that this process had
/// open.
void removeLogOfReplacedDatabase(const StoreFiles& files, const OpenedFiles& before, BusyWait& wait);

}  // namespace tenure::sqlite_store
