// Which file a path names: the guard against a database that is deleted or replaced under us.
#pragma once

#include <cstdint>
#include <iosfwd>
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

/// The mount through which the path reaches its file, without following a link there; 0 if the kernel does not say
/// (before Linux 5.8), or there is nothing.
[[nodiscard]] std::uint64_t mountOf(const std::string& path) noexcept;

/// Whether the file is reached through another mount than the directory in which it has its name: a bind mount of a
/// single file. False if there is no such file.
[[nodiscard]] bool isMountOfItsOwn(const std::string& file, const std::string& directory);

/// The same from the text of /proc/self/mountinfo, for kernels that do not say.
[[nodiscard]] bool hasMountPoint(std::istream& mountInfo, const std::string& path);

/// Where a store's files lie. No component of these paths is a symbolic link.
///
/// SQLite's locks are POSIX locks: when a process closes *any* descriptor of a file, all its locks on that file are
/// gone. Therefore nothing in this store ever opens the database, -wal or -shm file itself; it only stats them.
struct StoreFiles {
  std::string directory;
  std::string database;  ///< SQLite puts its files beside this one
  std::string wal;
  std::string shm;
  std::string sidecar;  ///< directory for wake files and beacons
};

/// What makes a store one and the same: the database's device and inode, those of its directory, and the mount that
/// leads to it. The -wal and -shm files belong to it: they live as long as any connection is open, so a missing or
/// changed one was taken away by hand, and going on with the old one would corrupt the database. Looked at with each
/// call, so a holder notices at its heartbeats.
class OpenedFiles {
 public:
  /// Empty if one is missing just now.
  [[nodiscard]] static std::optional<OpenedFiles> look(const StoreFiles& files) noexcept;

  [[nodiscard]] bool sameAs(const StoreFiles& files) const noexcept { return look(files) == *this; }

  /// Whether another database is in the place of ours, with our -wal and -shm files still beside it.
  [[nodiscard]] bool leftItsLogBehind(const StoreFiles& files) const noexcept;

  friend bool operator==(const OpenedFiles&, const OpenedFiles&) = default;

 private:
  FileIdentity directory_, database_, wal_, shm_;
  std::uint64_t mount_{0};
};

}  // namespace tenure::sqlite_store
