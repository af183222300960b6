// Which file a path names: the guard against a database that is deleted or replaced under us.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tenure::sqlite_store {

/// While a file is open its inode number is not given to another file, so equality here is identity.
struct FileIdentity {
  std::uint64_t device{0};
  std::uint64_t inode{0};

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// Empty if the path names nothing, or nothing that can be looked at.
[[nodiscard]] std::optional<FileIdentity> identityOf(const std::string& path) noexcept;

/// Where a store's files lie.
///
/// SQLite's locks are POSIX locks: when a process closes *any* descriptor of a file, all its locks on that file are
/// gone. Therefore nothing in this store ever opens the database, -wal or -shm file itself; it only stats them.
struct StoreFiles {
  std::string path;      ///< as configured, absolute; may be a symbolic link
  std::string database;  ///< the file itself, links resolved; SQLite puts its files beside this one
  std::string wal;
  std::string shm;
  std::string sidecar;  ///< directory for wake files, beacons and claims
};

/// The three files that belong together. The -wal and -shm files live as long as any connection is open, so a missing
/// or changed one was taken away by hand; going on with the old one would corrupt the database.
class OpenedFiles {
 public:
  /// Empty if one is missing just now.
  [[nodiscard]] static std::optional<OpenedFiles> look(const StoreFiles& files) noexcept;

  [[nodiscard]] bool sameAs(const StoreFiles& files) const noexcept { return look(files) == *this; }

  /// Whether another database is in the place of ours, with our -wal and -shm files still beside it.
  [[nodiscard]] bool leftItsLogBehind(const StoreFiles& files) const noexcept;

  friend bool operator==(const OpenedFiles&, const OpenedFiles&) = default;

 private:
  FileIdentity database_, wal_, shm_;
};

}  // namespace tenure::sqlite_store
