#include "faulty_vfs.hpp"

#include <array>
#include <mutex>
#include <new>
#include <pthread.h>
#include <stdexcept>
#include <string_view>

#include <sqlite3.h>

namespace tenure::sqlite_test {
namespace {

using Fault = FaultyVfs::Fault;

std::mutex mutex;  // guards the plan
int countdown = 0;
Fault planned = Fault::error;
bool stays = false;
std::string failed;

sqlite3_vfs* below() {
  static sqlite3_vfs* const unix = sqlite3_vfs_find("unix");
  return unix;
}

bool onWriterThread() {
  std::array<char, 16> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  return std::string_view{name.data()} == "tenure-sqlite-w";
}

/// Whether this operation is to fail, and how.
bool fails(const char* operation, Fault& how) {
  if (!onWriterThread()) return false;
  const std::lock_guard lock{mutex};
  if (countdown == 0) return false;
  if (countdown > 1) {
    --countdown;
    return false;
  }
  if (!stays) countdown = 0;
  how = planned;
  if (failed.empty()) failed = operation;
  return true;
}

struct File {
  sqlite3_file base;
  sqlite3_file* real;
};

sqlite3_file* realOf(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real; }

/// Runs `operation` unless it is to fail with `code`.
template <class Operation>
int guarded(const char* name, int code, const Operation& operation) {
  Fault how{};
  if (!fails(name, how)) return operation();
  if (how == Fault::afterwards) static_cast<void>(operation());
  return code;
}

int closeFile(sqlite3_file* file) {
  const int code = realOf(file)->pMethods->xClose(realOf(file));
  return code;
}
int readFile(sqlite3_file* file, void* buffer, int size, sqlite3_int64 at) {
  return realOf(file)->pMethods->xRead(realOf(file), buffer, size, at);
}
int writeFile(sqlite3_file* file, const void* data, int size, sqlite3_int64 at) {
  Fault how{};
  sqlite3_file* real = realOf(file);
  if (!fails("write", how)) return real->pMethods->xWrite(real, data, size, at);
  if (how == Fault::diskFull) static_cast<void>(real->pMethods->xWrite(real, data, size / 2, at));
  if (how == Fault::afterwards) static_cast<void>(real->pMethods->xWrite(real, data, size, at));
  return how == Fault::diskFull ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}
int truncateFile(sqlite3_file* file, sqlite3_int64 size) {
  return guarded("truncate", SQLITE_IOERR_TRUNCATE,
                 [&] { return realOf(file)->pMethods->xTruncate(realOf(file), size); });
}
int syncFile(sqlite3_file* file, int flags) {
  return guarded("sync", SQLITE_IOERR_FSYNC, [&] { return realOf(file)->pMethods->xSync(realOf(file), flags); });
}
int fileSize(sqlite3_file* file, sqlite3_int64* size) { return realOf(file)->pMethods->xFileSize(realOf(file), size); }
int lockFile(sqlite3_file* file, int level) {
  return guarded("lock", SQLITE_IOERR_LOCK, [&] { return realOf(file)->pMethods->xLock(realOf(file), level); });
}
int unlockFile(sqlite3_file* file, int level) { return realOf(file)->pMethods->xUnlock(realOf(file), level); }
int checkReserved(sqlite3_file* file, int* out) {
  return realOf(file)->pMethods->xCheckReservedLock(realOf(file), out);
}
int control(sqlite3_file* file, int operation, void* argument) {
  return realOf(file)->pMethods->xFileControl(realOf(file), operation, argument);
}
int sectorSize(sqlite3_file* file) { return realOf(file)->pMethods->xSectorSize(realOf(file)); }
int characteristics(sqlite3_file* file) { return realOf(file)->pMethods->xDeviceCharacteristics(realOf(file)); }
int shmMap(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
  return guarded("shm map", SQLITE_IOERR_SHMMAP,
                 [&] { return realOf(file)->pMethods->xShmMap(realOf(file), page, size, extend, out); });
}
int shmLock(sqlite3_file* file, int offset, int count, int flags) {
  const auto lock = [&] { return realOf(file)->pMethods->xShmLock(realOf(file), offset, count, flags); };
  // Letting go of a lock cannot fail, and "failed, but has the lock" would be a fault of this layer.
  if ((flags & SQLITE_SHM_UNLOCK) != 0) return lock();
  Fault how{};
  return fails("shm lock", how) ? SQLITE_IOERR_SHMLOCK : lock();
}
void shmBarrier(sqlite3_file* file) { realOf(file)->pMethods->xShmBarrier(realOf(file)); }
int shmUnmap(sqlite3_file* file, int remove) { return realOf(file)->pMethods->xShmUnmap(realOf(file), remove); }

const sqlite3_io_methods methods = [] {
  sqlite3_io_methods out{};
  out.iVersion = 2;
  out.xClose = closeFile;
  out.xRead = readFile;
  out.xWrite = writeFile;
  out.xTruncate = truncateFile;
  out.xSync = syncFile;
  out.xFileSize = fileSize;
  out.xLock = lockFile;
  out.xUnlock = unlockFile;
  out.xCheckReservedLock = checkReserved;
  out.xFileControl = control;
  out.xSectorSize = sectorSize;
  out.xDeviceCharacteristics = characteristics;
  out.xShmMap = shmMap;
  out.xShmLock = shmLock;
  out.xShmBarrier = shmBarrier;
  out.xShmUnmap = shmUnmap;
  return out;
}();

int openFile(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* outFlags) {
  auto* wrapped = new (file) File{};
  wrapped->real = reinterpret_cast<sqlite3_file*>(wrapped + 1);
  Fault how{};
  if (fails("open", how)) return SQLITE_IOERR;
  const int code = below()->xOpen(below(), name, wrapped->real, flags, outFlags);
  wrapped->base.pMethods = wrapped->real->pMethods != nullptr ? &methods : nullptr;
  return code;
}

int deleteFile(sqlite3_vfs*, const char* name, int sync) { return below()->xDelete(below(), name, sync); }

sqlite3_vfs& layer() {
  static sqlite3_vfs out = [] {
    sqlite3_vfs made = *below();
    made.zName = "faulty";
    made.szOsFile = static_cast<int>(sizeof(File)) + below()->szOsFile;
    made.pNext = nullptr;
    made.xOpen = openFile;
    made.xDelete = deleteFile;
    return made;
  }();
  return out;
}

}  // namespace

FaultyVfs::FaultyVfs() {
  if (sqlite3_vfs_register(&layer(), 1) != SQLITE_OK) throw std::runtime_error{"the faulty VFS cannot be registered"};
}

FaultyVfs::~FaultyVfs() {
  static_cast<void>(disarm());
  sqlite3_vfs_register(below(), 1);
  sqlite3_vfs_unregister(&layer());
}

void FaultyVfs::arm(int nth, Fault fault, bool sticky) {
  const std::lock_guard lock{mutex};
  countdown = nth;
  planned = fault;
  stays = sticky;
  failed.clear();
}

std::string FaultyVfs::disarm() {
  const std::lock_guard lock{mutex};
  countdown = 0;
  return failed;
}

}  // namespace tenure::sqlite_test
