// A store in an SQLite file: one machine, any number of processes, nothing to install.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/logger.hpp>

namespace tenure {

class LeaseStore;

struct SqliteStoreOptions {
  /// The database file. It is created if it is missing; its directory is not. It must be on a local file system. No
  /// component may be a symbolic link, and the file may not be a separate mount: a process that reaches the file by
  /// another path must come to the same directory.
  std::string path{};
  /// Whether a crashed holder's lease is taken over at once, on the kernel's proof (crash notice), instead of after a
  /// lease.
  bool crashNotice{true};
  /// Permission bits of a new database, whatever the umask: 0600, 0640 or 0660. The files next to a database have its
  /// mode and group. A user who may read them can lock them, and so stop all elections; users other than owner and
  /// group never may. The mode of an existing database is not changed, and the log says if it is wider.
  unsigned mode{0600};
  /// The group of a new database, for candidates of several users (with mode 0660). Empty: the system chooses it.
  std::string group{};

  friend bool operator==(const SqliteStoreOptions&, const SqliteStoreOptions&) = default;
};

/// Every fault of the options: a `path` that cannot be the name of a file, another `mode`. Nothing is looked up.
[[nodiscard]] TENURE_API OptionFaults faultsOf(const SqliteStoreOptions& options);

/// Makes the store without touching the file. The file is opened at the first call, off the caller's thread, and again
/// after any error, so a file that is missing or broken now may be repaired later. Faults of the environment (network
/// file system, link or mount in the way, read-only or missing directory, a file that is no database, a newer schema)
/// are `misconfigured` errors of each call. All candidates of a process should share one store object.
[[nodiscard]] TENURE_API std::shared_ptr<LeaseStore> makeSqliteStore(SqliteStoreOptions options, Logger logger = {});

}  // namespace tenure
