// Which file a path names: this protects against a database that is deleted or replaced while it is open.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace tenure::sqlite_store {

/// While a file is open, its inode number is not given to another file, so equal values mean the same file.
struct FileIdentity {
  std::uint64_t device{0};
  std::uint64_t inode{0};

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// Empty if the path names nothing, or something that stat cannot read.
[[nodiscard]] std::optional<FileIdentity> identityOf(const std::string& path) noexcept;

/// The mount through which the path reaches its file; a link as the last component is not followed. 0 if the kernel
/// does not say (before Linux 5.8), or if there is no such file.
[[nodiscard]] std::uint64_t mountOf(const std::string& path) noexcept;

/// Whether the file is reached through another mount than the directory that contains its name: a bind mount of a
/// single file. False if there is no such file.
[[nodiscard]] bool isMountOfItsOwn(const std::string& file, const std::string& directory);

/// The same from the text of /proc/self/mountinfo, for kernels that do not report the mount.
[[nodiscard]] bool hasMountPoint(std::istream& mountInfo, const std::string& path);

/// Where a store's files are. No component of these paths is a symbolic link.
///
/// SQLite's locks are POSIX locks: when a process closes *any* descriptor of a file, all its locks on that file are
/// gone. Therefore nothing in this store ever opens the database, -wal or -shm file itself; it only stats them.
struct StoreFiles {
  std::string directory;
  std::string database;  ///< SQLite puts its files beside this one
  std::string wal;
  std::string shm;
  std::string sidecar;  ///< directory for notification files and liveness files
};

/// What identifies a store: the database's device and inode, those of its directory, and the mount that leads to it.
/// The -wal and -shm files are part of it. They live as long as any connection is open, so a missing or changed one was
/// removed by hand, and going on with the old one would corrupt the database. Each call checks all of this, so a holder
/// notices a change at its heartbeats.
class OpenedFiles {
 public:
  /// Empty if one of the files is missing just now.
  [[nodiscard]] static std::optional<OpenedFiles> look(const StoreFiles& files) noexcept;

  [[nodiscard]] bool sameAs(const StoreFiles& files) const noexcept { return look(files) == *this; }

  /// Whether another database has replaced ours while our -wal and -shm files are still beside it.
  [[nodiscard]] bool leftItsLogBehind(const StoreFiles& files) const noexcept;

  friend bool operator==(const OpenedFiles&, const OpenedFiles&) = default;

 private:
  FileIdentity directory_, database_, wal_, shm_;
  std::uint64_t mount_{0};
};

}  // namespace tenure::sqlite_store
