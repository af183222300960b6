#include "leftovers.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace tenure::sqlite_store {
namespace {

void removeLog(const StoreFiles& files) {
  unlink(files.wal.c_str());
  unlink(files.shm.c_str());
}

}  // namespace

int CreationLock::take(const StoreFiles& files, BusyWait& wait) {
  path_ = files.sidecar + "/creation-lock";
  fd_ = UniqueFd{open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666)};
  if (!fd_) return errno;
  for (int round = 0; flock(fd_.get(), LOCK_EX | LOCK_NB) != 0; ++round) {
    const int fault = errno;
    if (fault != EWOULDBLOCK || !wait.step(round)) return fault;
  }
  return 0;
}

int CreationLock::readMark(std::string& mark) const {
  std::array<char, 64> text{};
  const ssize_t size = pread(fd_.get(), text.data(), text.size(), 0);
  if (size < 0) return errno;
  mark.assign(text.data(), static_cast<std::size_t>(size));
  return 0;
}

int CreationLock::writeMark(const std::string& mark) const {
  const ssize_t size = pwrite(fd_.get(), mark.data(), mark.size(), 0);
  if (size == static_cast<ssize_t>(mark.size())) return 0;
  return size < 0 ? errno : ENOSPC;
}

void removeLogOfMissingDatabase(const StoreFiles& files) {
  if (!identityOf(files.database)) removeLog(files);
}

void removeLogOfReplacedDatabase(const StoreFiles& files, const OpenedFiles& before, BusyWait& wait) {
  if (!before.leftItsLogBehind(files)) return;
  CreationLock lock;
  if (lock.take(files, wait) == 0 && before.leftItsLogBehind(files)) removeLog(files);
}

}  // namespace tenure::sqlite_store
