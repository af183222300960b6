#include "system_calls.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <mutex>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/statfs.h>
#include <unistd.h>
#include <utility>

namespace tenure::sqlite_test {
namespace {

std::mutex mutex;
std::shared_ptr<const CallHooks> present;  // guarded by mutex

std::shared_ptr<const CallHooks> hooks() {
  static const auto none = std::make_shared<const CallHooks>();
  const std::lock_guard lock{mutex};
  return present ? present : none;
}

std::string pathOf(int fd) {
  std::array<char, 4096> path{};
  const ssize_t size = readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path.data(), path.size());
  return {path.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

bool isLivenessFile(int fd) {
  const std::string path = pathOf(fd);
  return path.find("/beacon-") != std::string::npos || path.find("/new-") != std::string::npos;
}

}  // namespace

HookedCalls::HookedCalls(CallHooks hooks) {
  const std::lock_guard lock{mutex};
  present = std::make_shared<const CallHooks>(std::move(hooks));
}

HookedCalls::~HookedCalls() {
  const std::lock_guard lock{mutex};
  present.reset();
}

}  // namespace tenure::sqlite_test

// --wrap dictates the names.
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier)
extern "C" {

int __real_unlink(const char* path);
int __wrap_unlink(const char* path) {
  if (const auto hooks = tenure::sqlite_test::hooks(); hooks->beforeUnlink) hooks->beforeUnlink(path);
  return __real_unlink(path);
}

int __real_inotify_add_watch(int fd, const char* path, std::uint32_t mask);
int __wrap_inotify_add_watch(int fd, const char* path, std::uint32_t mask) {
  if (const auto hooks = tenure::sqlite_test::hooks(); hooks->beforeWatch) hooks->beforeWatch(path);
  return __real_inotify_add_watch(fd, path, mask);
}

int __real_eventfd_write(int fd, eventfd_t value);
int __wrap_eventfd_write(int fd, eventfd_t value) {
  const int result = __real_eventfd_write(fd, value);
  if (const auto hooks = tenure::sqlite_test::hooks(); hooks->afterWakeUp) hooks->afterWakeUp();
  return result;
}

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation) {
  const auto hooks = tenure::sqlite_test::hooks();
  if ((operation & LOCK_SH) != 0 && hooks->beforeLook) hooks->beforeLook();
  return __real_flock(fd, operation);
}

int __real_statfs(const char* path, struct statfs* told);
int __wrap_statfs(const char* path, struct statfs* told) {
  const int result = __real_statfs(path, told);
  if (const auto hooks = tenure::sqlite_test::hooks(); hooks->fileSystemType) told->f_type = *hooks->fileSystemType;
  return result;
}

ssize_t __real_pwrite(int fd, const void* data, std::size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void* data, std::size_t size, off_t at) {
  const auto hooks = tenure::sqlite_test::hooks();
  if (!hooks->roomForLivenessFile || !tenure::sqlite_test::isLivenessFile(fd)) return __real_pwrite(fd, data, size, at);
  const std::size_t room = std::min(size, *hooks->roomForLivenessFile);
  if (room > 0) return __real_pwrite(fd, data, room, at);
  errno = ENOSPC;
  return -1;
}
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
