#include "faulty_vfs.hpp"

#include <atomic>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include <sqlite3.h>

namespace tenure::sqlite_test {
namespace {

std::mutex bookMutex;  // guards unsyncedFiles
std::set<std::string> unsyncedFiles;
std::atomic<bool> syncsAreDone{true};
std::atomic<int> errnoOfDatabase{0};
std::atomic<int> errnoOfLog{0};

sqlite3_vfs* below() {
  static sqlite3_vfs* const unix = sqlite3_vfs_find("unix");
  return unix;
}

struct File {
  sqlite3_file base;
  const char* name;  // SQLite keeps it while the file is open; null: a temporary file
  sqlite3_file* real;
};

void noteWritten(const char* name) {
  if (name == nullptr) return;
  const std::lock_guard lock{bookMutex};
  unsyncedFiles.insert(name);
}

void noteSafe(const char* name) {
  if (name == nullptr) return;
  const std::lock_guard lock{bookMutex};
  unsyncedFiles.erase(name);
}

const char* nameOf(sqlite3_file* file) { return reinterpret_cast<File*>(file)->name; }
sqlite3_file* realOf(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real; }

/// Runs `operation` unless it must fail. Then it returns `code`, unless the plan has another one.
template <class Operation>
int guarded(const char* name, int code, const Operation& operation) {
  const auto failure = failureOf(name, code);
  if (!failure) return operation();
  if (failure->kind == FaultKind::afterwards) static_cast<void>(operation());
  return failure->code;
}

int closeFile(sqlite3_file* file) { return realOf(file)->pMethods->xClose(realOf(file)); }
int readFile(sqlite3_file* file, void* buffer, int size, sqlite3_int64 at) {
  return guarded("read", SQLITE_IOERR_READ,
                 [&] { return realOf(file)->pMethods->xRead(realOf(file), buffer, size, at); });
}
int writeFile(sqlite3_file* file, const void* data, int size, sqlite3_int64 at) {
  sqlite3_file* real = realOf(file);
  noteWritten(nameOf(file));
  const auto failure = failureOf("write", SQLITE_IOERR_WRITE);
  if (!failure) return real->pMethods->xWrite(real, data, size, at);
  if (failure->kind == FaultKind::diskFull) {
    static_cast<void>(real->pMethods->xWrite(real, data, size / 2, at));
    return SQLITE_FULL;
  }
  if (failure->kind == FaultKind::afterwards) static_cast<void>(real->pMethods->xWrite(real, data, size, at));
  return failure->code;
}
int truncateFile(sqlite3_file* file, sqlite3_int64 size) {
  return guarded("truncate", SQLITE_IOERR_TRUNCATE,
                 [&] { return realOf(file)->pMethods->xTruncate(realOf(file), size); });
}
int syncFile(sqlite3_file* file, int flags) {
  return guarded("sync", SQLITE_IOERR_FSYNC, [&] {
    const int code = syncsAreDone ? realOf(file)->pMethods->xSync(realOf(file), flags) : SQLITE_OK;
    if (code == SQLITE_OK) noteSafe(nameOf(file));
    return code;
  });
}
int fileSize(sqlite3_file* file, sqlite3_int64* size) {
  return guarded("file size", SQLITE_IOERR_FSTAT,
                 [&] { return realOf(file)->pMethods->xFileSize(realOf(file), size); });
}
int lockFile(sqlite3_file* file, int level) {
  return guarded("lock", SQLITE_IOERR_LOCK, [&] { return realOf(file)->pMethods->xLock(realOf(file), level); });
}
int unlockFile(sqlite3_file* file, int level) {
  return guarded("unlock", SQLITE_IOERR_UNLOCK, [&] { return realOf(file)->pMethods->xUnlock(realOf(file), level); });
}
int checkReserved(sqlite3_file* file, int* out) {
  return guarded("look at lock", SQLITE_IOERR_CHECKRESERVEDLOCK,
                 [&] { return realOf(file)->pMethods->xCheckReservedLock(realOf(file), out); });
}
int control(sqlite3_file* file, int operation, void* argument) {
  const char* name = nameOf(file);
  const bool isLog = name != nullptr && std::string_view{name}.ends_with("-wal");
  const int told = isLog ? errnoOfLog : errnoOfDatabase;
  if (operation == SQLITE_FCNTL_LAST_ERRNO && told != 0) {
    *static_cast<int*>(argument) = told;
    return SQLITE_OK;
  }
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
  // Releasing a lock cannot fail, and "failed, but has the lock" would be a fault of this layer.
  if ((flags & SQLITE_SHM_UNLOCK) != 0) return lock();
  const auto failure = failureOf("shm lock", SQLITE_IOERR_SHMLOCK);
  return failure ? failure->code : lock();
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
  wrapped->name = name;
  wrapped->real = reinterpret_cast<sqlite3_file*>(wrapped + 1);
  if (const auto failure = failureOf("open", SQLITE_IOERR)) return failure->code;
  const int code = below()->xOpen(below(), name, wrapped->real, flags, outFlags);
  wrapped->base.pMethods = wrapped->real->pMethods != nullptr ? &methods : nullptr;
  return code;
}

int deleteFile(sqlite3_vfs*, const char* name, int syncsDirectory) {
  return guarded("delete", SQLITE_IOERR_DELETE, [&] {
    noteSafe(name);
    return below()->xDelete(below(), name, syncsAreDone ? syncsDirectory : 0);
  });
}

int accessFile(sqlite3_vfs*, const char* name, int flags, int* out) {
  return guarded("access", SQLITE_IOERR_ACCESS, [&] { return below()->xAccess(below(), name, flags, out); });
}

sqlite3_vfs& layer() {
  static sqlite3_vfs out = [] {
    sqlite3_vfs made = *below();
    made.zName = "faulty";
    made.szOsFile = static_cast<int>(sizeof(File)) + below()->szOsFile;
    made.pNext = nullptr;
    made.xOpen = openFile;
    made.xDelete = deleteFile;
    made.xAccess = accessFile;
    return made;
  }();
  return out;
}

}  // namespace

FaultyVfs::FaultyVfs(Syncs syncs) {
  const std::lock_guard lock{bookMutex};
  unsyncedFiles.clear();
  syncsAreDone = syncs == Syncs::done;
  if (sqlite3_vfs_register(&layer(), 1) != SQLITE_OK) throw std::runtime_error{"the faulty VFS cannot be registered"};
}

FaultyVfs::~FaultyVfs() {
  static_cast<void>(disarm());
  tellErrno(0, 0);
  sqlite3_vfs_register(below(), 1);
  sqlite3_vfs_unregister(&layer());
}

void FaultyVfs::arm(int nth, Fault fault, bool sticky) {
  armFault({.thread = "tenure-sqlite-w", .nth = nth, .kind = fault, .sticky = sticky});
}

void FaultyVfs::tellErrno(int ofDatabase, int ofLog) {
  errnoOfDatabase = ofDatabase;
  errnoOfLog = ofLog;
}

std::string FaultyVfs::unsynced() const {
  const std::lock_guard lock{bookMutex};
  std::string out;
  for (const std::string& name : unsyncedFiles) out += name + ' ';
  return out;
}

}  // namespace tenure::sqlite_test
