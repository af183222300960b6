#include "files.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tenure::file_fence {
namespace {

template <class Call>
auto uninterrupted(Call&& call) -> decltype(call()) {
  for (;;) {
    const auto result = call();
    if (result >= 0) return result;
    if (errno != EINTR) return -errno;
  }
}

/// Of the open file description, so that threads and forks do as with flock.
int setRecordLock(int fd, short kind) noexcept {
  struct flock whole {};
  whole.l_type = kind;
  whole.l_whence = SEEK_SET;
  return fcntl(fd, F_OFD_SETLK, &whole);
}

class SystemFiles final : public Files {
 public:
  int open(const std::string& path, Make make, bool empty) override {
    // Without O_NONBLOCK a pipe in the file's place would be waited for.
    const int flags = O_RDWR | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK | (make == Make::no ? 0 : O_CREAT);
    const mode_t mode = make == Make::own ? ownMode : 0666;
    const int fd = uninterrupted([&] { return ::open(path.c_str(), flags, mode); });
    if (fd < 0) return fd;
    const int fault = settle(fd, make == Make::own, empty);
    if (fault == 0) return fd;
    ::close(fd);
    return fault;
  }
  int copyAccess(int from, int to) override {
    struct stat wanted {};
    struct stat found {};
    if (fstat(from, &wanted) != 0 || fstat(to, &found) != 0) return -errno;
    const bool sameOwner = wanted.st_uid == found.st_uid && wanted.st_gid == found.st_gid;
    if (!sameOwner && fchown(to, wanted.st_uid, wanted.st_gid) != 0) return -errno;
    return fchmod(to, wanted.st_mode & 07777) == 0 ? 0 : -errno;
  }
  void close(int fd) noexcept override { ::close(fd); }
  std::int64_t size(int fd) override {
    struct stat found {};
    return fstat(fd, &found) == 0 ? found.st_size : -errno;
  }
  int read(int fd, std::string& out, std::uint64_t most) override {
    out.resize(most);
    std::uint64_t got = 0;
    while (got < most) {
      const auto piece =
          uninterrupted([&] { return pread(fd, out.data() + got, most - got, static_cast<off_t>(got)); });
      if (piece < 0) return static_cast<int>(piece);
      if (piece == 0) break;
      got += static_cast<std::uint64_t>(piece);
    }
    out.resize(got);
    return 0;
  }
  std::int64_t write(int fd, std::uint64_t at, std::string_view bytes) override {
    return uninterrupted([&] { return pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at)); });
  }
  int truncate(int fd, std::uint64_t size) override {
    return uninterrupted([&] { return ftruncate(fd, static_cast<off_t>(size)); });
  }
  int sync(int fd) override {
    return uninterrupted([&] { return fdatasync(fd); });
  }
  int rename(const std::string& from, const std::string& to) override {
    return uninterrupted([&] { return ::rename(from.c_str(), to.c_str()); });
  }
  int remove(const std::string& path) override { return ::unlink(path.c_str()) == 0 ? 0 : -errno; }
  int syncDirectory(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return -errno;
    const int code = uninterrupted([&] { return fsync(fd); });
    ::close(fd);
    return code;
  }
  int lock(int fd) override {
    return uninterrupted([&] { return flock(fd, LOCK_EX | LOCK_NB); });
  }
  int queue(int fd) override {
    // flock and these locks know nothing of each other, so one file has both.
    const int code = uninterrupted([&] { return setRecordLock(fd, F_WRLCK); });
    return code == -EACCES || code == -EAGAIN ? -EWOULDBLOCK : code;
  }
  void unqueue(int fd) noexcept override { (void)setRecordLock(fd, F_UNLCK); }
  void pause(std::chrono::nanoseconds duration) noexcept override {
    timespec wanted{};
    wanted.tv_nsec = static_cast<long>(duration.count());  // below a second: the caller's longest step bounds it
    nanosleep(&wanted, nullptr);                           // lint-allow(sleep): flock has no time limit of its own
  }

 private:
  static constexpr mode_t ownMode = 0600;

  static int settle(int fd, bool own, bool empty) {
    struct stat found {};
    if (fstat(fd, &found) != 0) return -errno;
    if (!S_ISREG(found.st_mode)) return -EINVAL;
    const bool openToOthers = (found.st_mode & 0077) != 0 && found.st_uid == geteuid();
    if (own && openToOthers && fchmod(fd, ownMode) != 0) return -errno;
    return empty && ftruncate(fd, 0) != 0 ? -errno : 0;
  }
};

}  // namespace

Files& systemFiles() {
  static SystemFiles files;
  return files;
}

}  // namespace tenure::file_fence
