// Which file a path names: this protects against a database that is deleted or replaced while it is open.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "lockcore/runtime/shared_file.hpp"

namespace tenure::sqlite_store {

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

/// The files as a look finds them that makes none. A look reads either a database that nobody has open, or one whose
/// log has its -shm file.
class SeenFiles {
 public:
  /// Empty if there is no database.
  [[nodiscard]] static std::optional<SeenFiles> look(const StoreFiles& files) noexcept;

  /// There is nothing in a log or a journal, so the database alone is everything.
  [[nodiscard]] bool isAtRest() const noexcept { return !hasFrames() && !journal_; }
  /// What is in the log can only be read with a -shm file, and there is none.
  [[nodiscard]] bool lacksIndex() const noexcept { return hasFrames() && shm_ == FileIdentity{}; }

  [[nodiscard]] bool hasJournal() const noexcept { return journal_; }

  /// Whether what was read since the look is of one moment. At rest, nobody may have begun a log, or written one back
  /// and removed it. A change right before the look leaves that open, because times of files are coarse. Otherwise
  /// SQLite's locks see to that, as long as the files are the same ones.
  [[nodiscard]] bool sameAs(const StoreFiles& files) const noexcept;

 private:
  /// A log starts with a header of 32 bytes. SQLite reads one that has nothing else for 10 s, and then fails with
  /// SQLITE_PROTOCOL, if it may only read the -shm file and no other process has it open.
  [[nodiscard]] bool hasFrames() const noexcept { return logSize_ > 32; }

  FileIdentity database_{}, wal_{}, shm_{};
  std::uint64_t logSize_{0};
  bool journal_{false};
  bool justChanged_{false};
  std::array<std::int64_t, 5> content_{};  ///< size and times of the database
};

}  // namespace tenure::sqlite_store
