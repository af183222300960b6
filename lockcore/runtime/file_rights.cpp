#include "file_rights.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "open_file.hpp"

namespace tenure {
namespace {

/// Owner and group come first, so that no other group has the rights for a moment. `path` names the open file through
/// /proc, because fchmod(2) refuses a descriptor of O_PATH.
int giveRights(int fd, mode_t mode, const FileRights& rights) noexcept {
  int fault = 0;
  struct stat found {};
  if (fstat(fd, &found) != 0) return errno;
  constexpr auto unchanged = static_cast<uid_t>(-1);
  const uid_t owner = geteuid() == 0 ? rights.owner.value_or(unchanged) : unchanged;
  const gid_t group = (mode & 0070U) != 0 ? rights.group.value_or(unchanged) : unchanged;
  const bool differs = (owner != unchanged && found.st_uid != owner) || (group != unchanged && found.st_gid != group);
  if (differs && fchownat(fd, "", owner, group, AT_EMPTY_PATH) != 0) fault = errno;
  if ((found.st_mode & 07777U) == mode) return fault;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return chmod(path.c_str(), mode) == 0 ? fault : errno;
}

/// For what was made a moment ago under this name.
int giveRightsTo(const std::string& path, int kind, mode_t mode, const FileRights& rights) noexcept {
  const UniqueFd made{open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC | kind)};
  return made ? giveRights(made.get(), mode, rights) : errno;
}

}  // namespace

std::string modeText(mode_t mode) {
  std::string out(4, '0');
  for (std::size_t i = out.size(); i-- > 0; mode >>= 3U) out[i] = static_cast<char>('0' + (mode & 7U));
  return out;
}

UniqueFd fileWithRights(const std::string& path, int flags, const FileRights& rights) noexcept {
  constexpr int always = O_NOFOLLOW | O_CLOEXEC;
  for (int round = 0; round < 3; ++round) {  // others may make and remove the file meanwhile
    UniqueFd file{openToWrite(path, flags | always)};
    if (file || errno != ENOENT) return file;
    file = UniqueFd{openToWrite(path, flags | always | O_CREAT | O_EXCL, rights.mode & 0600U)};
    if (!file && errno == EEXIST) continue;
    if (file) static_cast<void>(giveRights(file.get(), rights.mode, rights));
    return file;
  }
  errno = ENOENT;
  return {};
}

int makeFile(const std::string& path, const FileRights& rights) noexcept {
  // Not open(2): see StoreFiles. A descriptor of O_PATH has no locks that its end could drop.
  if (mknod(path.c_str(), S_IFREG | (rights.mode & 0600U), 0) != 0) return errno;
  return giveRightsTo(path, 0, rights.mode, rights);
}

int makeDirectoryWith(const std::string& path, const FileRights& rights) noexcept {
  if (mkdir(path.c_str(), 0700) != 0) return errno;
  const int fault = giveRightsTo(path, O_DIRECTORY, directoryModeFor(rights.mode), rights);
  return fault == EPERM ? 0 : fault;
}

}  // namespace tenure
