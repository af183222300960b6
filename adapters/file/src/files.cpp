#include "files.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lockcore/runtime/open_file.hpp"
#include "lockcore/runtime/shared_file.hpp"

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

/// An "open file description lock": like flock's it belongs to what open() made, and not to the process. A lock of the
/// process (F_SETLK) would let two threads of one process in, and would end when any descriptor of the file is closed.
int setRecordLock(int fd, short kind) noexcept {
  struct flock whole {};
  whole.l_type = kind;
  whole.l_whence = SEEK_SET;
  return fcntl(fd, F_OFD_SETLK, &whole);
}

constexpr const char* accessList = "system.posix_acl_access";

/// Copies the access list. If the source has none, that of the target is removed: the target may have inherited one
/// from its directory, and the mode would activate the entries of that list.
int copyAccessList(int from, int to) {
  const auto isMissing = [] { return errno == ENODATA || errno == EOPNOTSUPP; };
  const ssize_t size = fgetxattr(from, accessList, nullptr, 0);
  if (size < 0) {
    if (!isMissing()) return -errno;
    return fremovexattr(to, accessList) == 0 || isMissing() ? 0 : -errno;
  }
  std::string list(static_cast<std::size_t>(size), '\0');
  const ssize_t got = fgetxattr(from, accessList, list.data(), list.size());
  if (got < 0) return -errno;
  return fsetxattr(to, accessList, list.data(), static_cast<std::size_t>(got), 0) == 0 ? 0 : -errno;
}

class SystemFiles final : public Files {
 public:
  int openDirectory(const std::string& path) override {
    if (!linkFault(path, {}).empty()) return -behindLink;
    return uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  }
  int open(int directory, const std::string& name, Kind kind) override {
    // Without O_NONBLOCK the open would wait if a pipe were in the file's place.
    const int flags = O_RDWR | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK | creationFlags(kind);
    const mode_t mode = kind == Kind::newContent ? 0666 : ownMode;
    const int fd = uninterrupted([&] { return openToWrite(directory, name, flags, mode); });
    if (fd < 0) return kind == Kind::content ? fd : orNotOurs(fd, directory, name);
    const int fault = verifyOpened(fd, directory, kind);
    if (fault == 0) return fd;
    ::close(fd);
    return fault;
  }
  int isNamed(int directory, const std::string& name, int fd) override {
    const auto named = identityOf(directory, name);
    return named && named == identityOf(fd) ? 1 : 0;
  }
  int leadsTo(const std::string& path, int directory) override {
    const auto there = identityOf(path);
    return there && there == identityOf(directory) ? 1 : 0;
  }
  int copyAccess(int from, int to) override {
    struct stat wanted {};
    struct stat found {};
    if (fstat(from, &wanted) != 0 || fstat(to, &found) != 0) return -errno;
    const bool sameOwner = wanted.st_uid == found.st_uid && wanted.st_gid == found.st_gid;
    if (!sameOwner && fchown(to, wanted.st_uid, wanted.st_gid) != 0) return -errno;
    // Before the mode: with an access list, the group bits of a mode limit what the list may grant; without one they
    // are rights of the group.
    if (const int code = copyAccessList(from, to); code < 0) return code;
    return fchmod(to, wanted.st_mode & 07777) == 0 ? 0 : -errno;
  }
  void close(int fd) noexcept override { ::close(fd); }
  std::int64_t size(int fd) override {
    struct stat found {};
    return fstat(fd, &found) == 0 ? found.st_size : -errno;
  }
  int read(int fd, std::string& out, std::uint64_t most) override {
    const std::int64_t there = size(fd);
    if (there < 0) return static_cast<int>(there);
    const std::uint64_t wanted = std::min(most, static_cast<std::uint64_t>(there));
    out.resize(wanted);
    std::uint64_t got = 0;
    while (got < wanted) {
      const auto piece =
          uninterrupted([&] { return pread(fd, out.data() + got, wanted - got, static_cast<off_t>(got)); });
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
  int rename(int directory, const std::string& from, const std::string& to) override {
    const int fault = verifyRenamed(directory, from, to);
    return fault != 0 ? fault : uninterrupted([&] { return renameat(directory, from.c_str(), directory, to.c_str()); });
  }
  int renameToNew(int directory, const std::string& from, const std::string& to) override {
    if (const int fault = verifyRenamed(directory, from, to); fault != 0) return fault;
    const int code =
        uninterrupted([&] { return renameat2(directory, from.c_str(), directory, to.c_str(), RENAME_NOREPLACE); });
    return code == -EINVAL || code == -ENOSYS ? rename(directory, from, to) : code;
  }
  int remove(int directory, const std::string& name) override {
    return unlinkat(directory, name.c_str(), 0) == 0 ? 0 : orNotOurs(-errno, directory, name);
  }
  int syncDirectory(int directory) override {
    return uninterrupted([&] { return fsync(directory); });
  }
  int lock(int fd) override {
    return uninterrupted([&] { return flock(fd, LOCK_EX | LOCK_NB); });
  }
  int queue(int fd) override {
    // flock and these locks do not affect each other, so one file can have both.
    const int code = uninterrupted([&] { return setRecordLock(fd, F_WRLCK); });
    return code == -EACCES || code == -EAGAIN ? -EWOULDBLOCK : code;
  }
  void unqueue(int fd) noexcept override { (void)setRecordLock(fd, F_UNLCK); }
  void pause(std::chrono::nanoseconds duration) noexcept override {
    timespec wanted{};
    wanted.tv_nsec = static_cast<long>(duration.count());  // less than a second: the caller's longest step bounds it
    nanosleep(&wanted, nullptr);                           // lint-allow(sleep): flock has no time limit of its own
  }

 private:
  static constexpr mode_t ownMode = 0600;

  static int creationFlags(Kind kind) {
    if (kind == Kind::lock) return O_CREAT;
    return kind == Kind::newContent || kind == Kind::newBeside ? O_CREAT | O_EXCL : 0;
  }
  static bool lookAt(int directory, const std::string& name, struct stat& found) {
    return fstatat(directory, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
  }
  /// `result` is -errno of a call on this name. If the call was not permitted and the file is another user's, that is
  /// most often why, and -notOurs is returned instead.
  static int orNotOurs(int result, int directory, const std::string& name) {
    struct stat found {};
    const bool forbidden = result == -EACCES || result == -EPERM;
    if (!forbidden || !lookAt(directory, name, found)) return result;
    return found.st_uid == geteuid() ? result : -notOurs;
  }
  /// What is called `from` may be another user's file: whoever may create files in the directory can guess the name.
  static int verifyRenamed(int directory, const std::string& from, const std::string& to) {
    struct stat made {};
    struct stat old {};
    if (!lookAt(directory, from, made)) return -errno;
    const bool replaces = lookAt(directory, to, old);
    if (!S_ISREG(made.st_mode)) return -notRegular;
    if (made.st_nlink > 1) return -manyNames;
    return made.st_uid != geteuid() && !(replaces && made.st_uid == old.st_uid) ? -notOurs : 0;
  }
  /// Refuses an open file that is not of its kind. Writers lock the fence and its lock, and whoever may open a file can
  /// lock it, so others lose what rights they have on these.
  static int verifyOpened(int fd, int directory, Kind kind) {
    struct stat found {};
    if (fstat(fd, &found) != 0) return -errno;
    if (!S_ISREG(found.st_mode)) return -notRegular;
    // On a kernel that does not say it, FencedFile::open() has asked /proc.
    const std::uint64_t around = mountOf(directory);
    const std::uint64_t own = around == 0 ? 0 : mountOf(fd);
    if (own != around && own != 0) return -mountedAlone;
    // A file without any name is accepted. A fence is also read without the lock; if it was replaced after it was
    // opened, its last name is gone.
    if (found.st_nlink > 1) return -manyNames;
    const bool ours = found.st_uid == geteuid();
    const bool isLocked = kind == Kind::beside || kind == Kind::lock;
    if (!ours && isLocked) return -notOurs;
    const bool openToOthers = (found.st_mode & 0077) != 0;
    return isLocked && openToOthers && fchmod(fd, ownMode) != 0 ? -errno : 0;
  }
};

}  // namespace

Files& systemFiles() {
  static SystemFiles files;
  return files;
}

}  // namespace tenure::file_fence
