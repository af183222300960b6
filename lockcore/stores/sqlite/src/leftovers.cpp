#include "leftovers.hpp"

#include <cerrno>
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

bool CreationLock::take(const StoreFiles& files, BusyWait& wait) {
  const std::string path = files.sidecar + "/creation-lock";
  fd_ = UniqueFd{open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666)};
  if (!fd_) return false;
  for (int round = 0; flock(fd_.get(), LOCK_EX | LOCK_NB) != 0; ++round) {
    if (errno != EWOULDBLOCK || !wait.step(round)) return false;
  }
  return true;
}

void removeLogOfMissingDatabase(const StoreFiles& files) {
  if (!identityOf(files.database)) removeLog(files);
}

void removeLogOfReplacedDatabase(const StoreFiles& files, const OpenedFiles& before, BusyWait& wait) {
  if (!before.leftItsLogBehind(files)) return;
  CreationLock lock;
  if (lock.take(files, wait) && before.leftItsLogBehind(files)) removeLog(files);
}

}  // namespace tenure::sqlite_store
