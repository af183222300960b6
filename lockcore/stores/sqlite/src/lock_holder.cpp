#include "lock_holder.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <vector>

#include "busy_wait.hpp"
#include "lockcore/runtime/directory.hpp"

namespace tenure::sqlite_store {
namespace {

/// By its path, because most descriptors belong to other threads, which may just close them and open other files.
bool isDescriptorOf(int fd, const FileIdentity& file) {
  struct stat found {};
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return stat(path.c_str(), &found) == 0 && FileIdentity{found.st_dev, found.st_ino} == file;
}

/// SQLite's own descriptor of a file. We may not open one of our own: closing it would drop all locks that this process
/// has on the file (POSIX locks).
std::optional<int> descriptorOf(const FileIdentity& file) {
  for (const std::string& name : namesIn("/proc/self/fd")) {
    int fd = -1;
    if (std::from_chars(name.data(), name.data() + name.size(), fd).ec != std::errc{}) continue;
    if (isDescriptorOf(fd, file)) return fd;
  }
  return std::nullopt;
}

/// The process whose lock conflicts with a lock of `type` on these bytes; 0 if there is none.
pid_t ownerOfLock(const std::string& path, short type, off_t start, off_t length) {
  const auto file = identityOf(path);
  const auto fd = file ? descriptorOf(*file) : std::nullopt;
  if (!fd) return 0;
  struct flock query {};
  query.l_type = type;
  query.l_whence = SEEK_SET;
  query.l_start = start;
  query.l_len = length;
  if (fcntl(*fd, F_GETLK, &query) != 0 || query.l_type == F_UNLCK) return 0;
  return isDescriptorOf(*fd, *file) ? query.l_pid : 0;  // it may be another connection's, and closed meanwhile
}

/// "1: OFDLCK ADVISORY  READ -1 fe:01:131 120 120", as /proc/locks and fdinfo write it; major and minor number in hex,
/// inode in decimal.
struct LockLine {
  std::array<char, 16> kind{};
  long pid{0};
  FileIdentity file{};
};

std::optional<LockLine> lockIn(const std::string& line) {
  LockLine lock;
  unsigned int major = 0;
  unsigned int minor = 0;
  unsigned long long inode = 0;
  const int fields = std::sscanf(line.c_str(), "%*d: %15s %*s %*s %ld %x:%x:%llu", lock.kind.data(), &lock.pid, &major,
                                 &minor, &inode);
  if (fields != 5) return std::nullopt;
  lock.file = {gnu_dev_makedev(major, minor), inode};
  return lock;
}

bool isLockOf(const std::string& fdinfo, const FileIdentity& file) {
  constexpr std::string_view label{"lock:\t"};
  std::ifstream lines{fdinfo};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(label)) continue;
    const auto lock = lockIn(line.substr(label.size()));
    if (lock && lock->file == file && std::string_view{lock->kind.data()} == "OFDLCK") return true;
  }
  return false;
}

bool hasLockOf(long pid, const FileIdentity& file) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/fdinfo";
  const std::vector<std::string> fds = namesIn(folder);
  return std::any_of(fds.begin(), fds.end(), [&](const std::string& fd) { return isLockOf(folder + '/' + fd, file); });
}

std::vector<long> processes() {
  std::vector<long> pids;
  for (const std::string& name : namesIn("/proc")) {
    long pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec == std::errc{}) pids.push_back(pid);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

struct LockedPlace {
  const std::string* path{nullptr};
  pid_t pid{0};  ///< -1: a lock of an open file description
};

/// Where a lock of another process keeps this one from writing.
std::optional<LockedPlace> lockedPlace(const StoreFiles& files) {
  // The bytes: "The WAL-Index File Format" (write lock 120, checkpoint 121, recovery 122 of the -shm file) and
  // "File Locking And Concurrency" (PENDING_BYTE 0x40000000 and the 511 after it). In WAL mode every connection has
  // a shared lock on the database file and on the dead man's switch (128), so only an exclusive one is looked for
  // there. A shared lock of another program on the others, for which the right to read is enough, is found as well.
  struct Bytes {
    const std::string& path;
    short type;
    off_t start, length;
  };
  const std::array<Bytes, 4> places{{{files.shm, F_WRLCK, 120, 1},
                                     {files.shm, F_WRLCK, 122, 1},
                                     {files.database, F_RDLCK, 0x40000000, 512},
                                     {files.shm, F_RDLCK, 128, 1}}};
  for (const auto& [path, type, start, length] : places) {
    if (const pid_t pid = ownerOfLock(path, type, start, length); pid != 0) return LockedPlace{&path, pid};
  }
  return std::nullopt;
}

std::string firstLine(const std::string& path) {
  std::ifstream file{path};
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::string describeProcess(long pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  std::string out = "process " + std::to_string(pid);
  const std::string stat = firstLine(folder + "/stat");
  if (const std::string name = firstLine(folder + "/comm"); !name.empty()) out += " (" + name + ')';
  // The state follows the command. The command is in parentheses and may itself contain parentheses.
  const std::size_t end = stat.rfind(')');
  const char state = end != std::string::npos && end + 2 < stat.size() ? stat[end + 2] : '?';
  if (state == 'T') out += ", which is stopped";
  if (state == 't') out += ", which is held by a debugger";
  if (state == 'D') out += ", which waits for its disk";
  return out;
}

std::string describeFlockHolder(const UniqueFd& file) {
  struct stat found {};
  std::ifstream locks{"/proc/locks"};
  if (fstat(file.get(), &found) != 0) return "a process";
  for (std::string line; std::getline(locks, line);) {
    const auto lock = lockIn(line);
    const bool same = lock && std::string_view{lock->kind.data()} == "FLOCK" &&
                      lock->file == FileIdentity{found.st_dev, found.st_ino};
    if (same && lock->pid > 0) return describeProcess(lock->pid);
  }
  return "a process";
}

void WriteLockHolder::search(const StoreFiles& files, std::chrono::nanoseconds atMost) {
  const auto place = lockedPlace(files);
  const auto file = place && place->pid < 0 ? identityOf(*place->path) : std::nullopt;
  if (!file || (found_ > 0 && hasLockOf(found_, *file))) return;
  found_ = 0;
  const Deadline end{systemClock(), atMost};
  for (const long pid : processes()) {
    if (pid <= searched_) continue;
    if (hasLockOf(pid, *file)) found_ = pid;
    if (found_ > 0) break;
    searched_ = pid;
    if (end.passed()) return;
  }
  searched_ = 0;
}

std::string WriteLockHolder::text(const StoreFiles& files) const {
  const auto place = lockedPlace(files);
  if (!place) return {};
  if (place->pid > 0) return describeProcess(place->pid);
  const auto file = identityOf(*place->path);
  if (file && found_ > 0 && hasLockOf(found_, *file)) return describeProcess(found_);
  return "a process that locks by open file description (fcntl F_OFD_SETLK); fuser " + *place->path +
         " shows who has the file open";
}

}  // namespace tenure::sqlite_store
