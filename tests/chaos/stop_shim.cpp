// Preloaded into a process, it stops the process (SIGSTOP to itself) in the middle of a transaction on an SQLite
// database: right before the process writes into the write-ahead log, when it has the write lock.
//
//   LD_PRELOAD=stop_shim.so TENURE_STOP_SHIM_LOG=/path/leases.db-wal TENURE_STOP_SHIM_TRIGGER=/path/trigger program
//
// The first process that finds the trigger file removes it and stops.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <climits>

namespace {

bool writesTheLog(int fd) {
  static const char* const log = std::getenv("TENURE_STOP_SHIM_LOG");
  char link[32];
  char path[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = log == nullptr ? -1 : readlink(link, path, sizeof path - 1);
  if (length < 0) return false;
  path[length] = '\0';
  return std::strcmp(path, log) == 0;
}

void stopIfAsked(int fd) {
  static const char* const trigger = std::getenv("TENURE_STOP_SHIM_TRIGGER");
  if (trigger != nullptr && access(trigger, F_OK) == 0 && writesTheLog(fd) && unlink(trigger) == 0) {
    raise(SIGSTOP);  // sent to this thread, which goes no further
  }
}

}  // namespace

extern "C" {

ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  static const auto real =
      reinterpret_cast<ssize_t (*)(int, const void*, size_t, off64_t)>(dlsym(RTLD_NEXT, "pwrite64"));
  stopIfAsked(fd);
  return real(fd, data, size, offset);
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) { return pwrite64(fd, data, size, offset); }

}  // extern "C"
