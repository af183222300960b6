#include "lock_holder.hpp"

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

#include "lockcore/runtime/directory.hpp"

namespace tenure::sqlite_store {
namespace {

/// SQLite's own descriptor of a file. We may not open one of our own: closing it would drop all locks that this process
/// has on the file (POSIX locks).
std::optional<int> descriptorOf(const FileIdentity& file) {
  for (const std::string& name : namesIn("/proc/self/fd")) {
    int fd = -1;
    if (std::from_chars(name.data(), name.data() + name.size(), fd).ec != std::errc{}) continue;
    struct stat found {};
    if (fstat(fd, &found) == 0 && FileIdentity{found.st_dev, found.st_ino} == file) return fd;
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
  return fcntl(*fd, F_GETLK, &query) == 0 && query.l_type != F_UNLCK ? query.l_pid : 0;
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
  // "7: FLOCK  ADVISORY  WRITE 4711 fe:01:131 0 EOF": major and minor number in hex, inode in decimal.
  for (std::string line; std::getline(locks, line);) {
    std::array<char, 16> kind{};
    long pid = 0;
    unsigned int major = 0;
    unsigned int minor = 0;
    unsigned long long inode = 0;
    if (std::sscanf(line.c_str(), "%*d: %15s %*s %*s %ld %x:%x:%llu", kind.data(), &pid, &major, &minor, &inode) != 5) {
      continue;
    }
    const bool same = std::string_view{kind.data()} == "FLOCK" && inode == found.st_ino &&
                      major == gnu_dev_major(found.st_dev) && minor == gnu_dev_minor(found.st_dev);
    if (same && pid > 0) return describeProcess(pid);
  }
  return "a process";
}

std::string writeLockHolder(const StoreFiles& files) {
  // The bytes: "The WAL-Index File Format" (write lock 120, checkpoint 121, recovery 122 of the -shm file) and
  // "File Locking And Concurrency" (PENDING_BYTE 0x40000000 and the 511 after it). In WAL mode every connection has
  // a shared lock on the database file, so only an exclusive one is looked for there.
  pid_t pid = ownerOfLock(files.shm, F_WRLCK, 120, 1);
  if (pid == 0) pid = ownerOfLock(files.shm, F_WRLCK, 122, 1);
  if (pid == 0) pid = ownerOfLock(files.database, F_RDLCK, 0x40000000, 512);
  if (pid == 0) return {};
  if (pid < 0) return "a process that locks by open file description";
  return describeProcess(pid);
}

}  // namespace tenure::sqlite_store
