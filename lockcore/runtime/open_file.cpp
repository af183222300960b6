#include "open_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace tenure {
namespace {

constexpr int firstOfOthers = STDERR_FILENO + 1;

}  // namespace

void occupyStandardDescriptors() noexcept {
  for (int fd = STDIN_FILENO; fd < firstOfOthers; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest free number is this one, unless another thread was quicker.
    const int direction = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;  // lint-allow(cloexec): children need it as much
    const int opened = open("/dev/null", direction);
    if (opened >= firstOfOthers) close(opened);
  }
}

int openToWrite(const std::string& path, int flags, mode_t mode) noexcept {
  return openToWrite(AT_FDCWD, path, flags, mode);
}

int openToWrite(int directory, const std::string& name, int flags, mode_t mode) noexcept {
  occupyStandardDescriptors();
  const int fd = openat(directory, name.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0 || fd >= firstOfOthers) return fd;
  // There is no /dev/null, or another thread has just closed one of them.
  const int higher = fcntl(fd, F_DUPFD_CLOEXEC, firstOfOthers);
  const int error = errno;
  close(fd);
  errno = error;
  return higher;
}

}  // namespace tenure
