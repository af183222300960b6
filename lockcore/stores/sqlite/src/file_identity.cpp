#include "file_identity.hpp"

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

bool OpenedFiles::leftItsLogBehind(const StoreFiles& files) const noexcept {
  const auto now = look(files);
  return now && now->database_ != database_ && now->wal_ == wal_ && now->shm_ == shm_;
}

}  // namespace tenure::sqlite_store
