#include "leftovers.hpp"

#include <unistd.h>

#include "sidecar/sidecar.hpp"

namespace tenure::sqlite_store {
namespace {

void removeLog(const StoreFiles& files) {
  unlink(files.wal.c_str());
  unlink(files.shm.c_str());
}

}  // namespace

void removeLogOfMissingDatabase(const StoreFiles& files) {
  if (!identityOf(files.database)) removeLog(files);
}

void removeLogOfReplacedDatabase(const StoreFiles& files, const OpenedFiles& before, BusyWait& wait) {
  if (!before.leftItsLogBehind(files)) return;
  CreationLock lock;
  if (lock.take(files, wait) == 0 && before.leftItsLogBehind(files)) removeLog(files);
}

}  // namespace tenure::sqlite_store
