#include "file_identity.hpp"

#include <fcntl.h>
#include <fstream>
#include <istream>
#include <sstream>
#include <sys/stat.h>

namespace tenure::sqlite_store {
namespace {

/// mountinfo writes space, tab, newline and backslash as three octal digits.
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '\\' && i + 3 < text.size();
    if (!escaped) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
    i += 3;
  }
  return out;
}

}  // namespace

std::optional<FileIdentity> identityOf(const std::string& path) noexcept {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return std::nullopt;
  return FileIdentity{found.st_dev, found.st_ino};
}

std::uint64_t mountOf([[maybe_unused]] const std::string& path) noexcept {
#ifdef STATX_MNT_ID
  struct statx found {};
  if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &found) != 0) return 0;
  return (found.stx_mask & STATX_MNT_ID) != 0 ? found.stx_mnt_id : 0;
#else
  return 0;
#endif
}

bool hasMountPoint(std::istream& mountInfo, const std::string& path) {
  // "36 35 98:0 /root /mount/point rw,noatime ..."
  for (std::string line; std::getline(mountInfo, line);) {
    std::istringstream fields{line};
    std::string id, parent, device, root, point;
    if (fields >> id >> parent >> device >> root >> point && unescaped(point) == path) return true;
  }
  return false;
}

bool isMountOfItsOwn(const std::string& file, const std::string& directory) {
  const auto found = identityOf(file);
  if (!found) return false;
  const std::uint64_t own = mountOf(file);
  const std::uint64_t around = mountOf(directory);
  if (own != 0 && around != 0) return own != around;
  if (std::ifstream mountInfo{"/proc/self/mountinfo"}) return hasMountPoint(mountInfo, file);
  const auto outer = identityOf(directory);
  return outer && outer->device != found->device;
}

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
