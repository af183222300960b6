#include "file_identity.hpp"

#include <sys/stat.h>

namespace tenure::sqlite_store {

std::optional<FileIdentity> identityOf(const std::string& path) noexcept {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return std::nullopt;
  return FileIdentity{found.st_dev, found.st_ino};
}

std::optional<OpenedFiles> OpenedFiles::look(const StoreFiles& files) noexcept {
  const auto database = identityOf(files.path);
  const auto wal = identityOf(files.wal);
  const auto shm = identityOf(files.shm);
  if (!database || !wal || !shm) return std::nullopt;
  OpenedFiles found;
  found.database_ = *database;
  found.wal_ = *wal;
  found.shm_ = *shm;
  return found;
}

bool OpenedFiles::leftItsLogBehind(const StoreFiles& files) const noexcept {
  const auto now = look(files);
  return now && now->database_ != database_ && now->wal_ == wal_ && now->shm_ == shm_;
}

}  // namespace tenure::sqlite_store
