#include "file_identity.hpp"

#include <chrono>
#include <ctime>
#include <sys/stat.h>

namespace tenure::sqlite_store {

std::optional<OpenedFiles> OpenedFiles::look(const StoreFiles& files) noexcept {
  const auto directory = identityOf(files.directory);
  const auto database = identityOf(files.database);
  const auto wal = identityOf(files.wal);
  const auto shm = identityOf(files.shm);
  if (!directory || !database || !wal || !shm) return std::nullopt;
  OpenedFiles found;
  found.directory_ = *directory;
  found.database_ = *database;
  found.wal_ = *wal;
  found.shm_ = *shm;
  found.mount_ = mountOf(files.database);
  return found;
}

namespace {

/// Kernels before 6.13 give file times the clock of their last tick (at most 10 ms), and some file systems whole
/// seconds. A change within that time after the last one leaves the times as they are.
bool isJustChanged(const timespec& changed) noexcept {
  timespec now{};
  if (clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0) return true;  // lint-allow(clock): the clock of file times
  using std::chrono::nanoseconds;
  using std::chrono::seconds;
  const nanoseconds age = seconds{now.tv_sec - changed.tv_sec} + nanoseconds{now.tv_nsec - changed.tv_nsec};
  const nanoseconds unsure = changed.tv_nsec == 0 ? nanoseconds{seconds{1}} : std::chrono::milliseconds{20};
  return age < unsure && age > -unsure;  // further ahead: the clock was set back, and a change shows
}

}  // namespace

std::optional<SeenFiles> SeenFiles::look(const StoreFiles& files) noexcept {
  struct stat database {};
  struct stat log {};
  if (stat(files.database.c_str(), &database) != 0) return std::nullopt;
  SeenFiles seen;
  seen.database_ = {database.st_dev, database.st_ino};
  seen.content_ = {database.st_size, database.st_mtim.tv_sec, database.st_mtim.tv_nsec, database.st_ctim.tv_sec,
                   database.st_ctim.tv_nsec};
  seen.justChanged_ = isJustChanged(database.st_ctim);
  if (stat(files.wal.c_str(), &log) == 0) {
    seen.wal_ = {log.st_dev, log.st_ino};
    seen.logSize_ = static_cast<std::uint64_t>(log.st_size);
  }
  seen.shm_ = identityOf(files.shm).value_or(FileIdentity{});
  seen.journal_ = identityOf(files.database + "-journal").has_value();
  return seen;
}

bool SeenFiles::sameAs(const StoreFiles& files) const noexcept {
  const auto now = look(files);
  if (!now || now->database_ != database_) return false;
  if (isAtRest()) return !justChanged_ && now->isAtRest() && now->content_ == content_;
  return now->wal_ == wal_ && now->shm_ == shm_;
}

bool OpenedFiles::leftItsLogBehind(const StoreFiles& files) const noexcept {
  const auto now = look(files);
  return now && now->database_ != database_ && now->wal_ == wal_ && now->shm_ == shm_;
}

}  // namespace tenure::sqlite_store
