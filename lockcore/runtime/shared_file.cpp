#include "shared_file.hpp"

#include <array>
#include <fcntl.h>
#include <fstream>
#include <istream>
#include <memory>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <climits>

#include "file_rights.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "regular_file.hpp"

namespace tenure {
namespace {

struct FreeText {
  void operator()(char* text) const noexcept { std::free(text); }
};

std::string joined(const std::string& directory, const std::string& name) {
  return directory == "/" ? directory + name : directory + '/' + name;
}

/// mountinfo writes space, tab, newline and backslash as three octal digits.
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '\\' && i + 3 < text.size();
    if (!escaped) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
    i += 3;
  }
  return out;
}

/// Where a symbolic link leads, as it is written there; empty if the path is none.
std::string targetOf(const std::string& path) {
  std::array<char, PATH_MAX> text;
  const ssize_t size = readlink(path.c_str(), text.data(), text.size());
  return size <= 0 ? std::string{} : std::string{text.data(), static_cast<std::size_t>(size)};
}

/// Links that nobody switches: systemd makes NAME lead to private/NAME beside it for a service with DynamicUser, and
/// /var/run leads to /run.
bool staysAsItIs(const std::string& link, const std::string& target) {
  const std::string name = partsOf(link).name;
  const bool isStateDirectory = target == "private/" + name && name != "private";  // which would lead to itself
  return isStateDirectory || (link == "/var/run" && target == "/run");
}

/// The first component that is a symbolic link which could be switched, as a path; empty if there is none. Where a link
/// stays as it is, the components of what it leads to count.
std::string firstLink(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    std::string part = path.substr(0, slash);
    if (const std::string target = targetOf(part); !target.empty()) {
      if (!staysAsItIs(part, target)) return part;
      const std::string real = target.front() == '/' ? target : joined(partsOf(part).directory, target);
      return firstLink(slash == std::string::npos ? real : real + path.substr(slash));
    }
    if (slash == std::string::npos) return {};
  }
}

std::uint64_t mountAt([[maybe_unused]] int fd, [[maybe_unused]] const char* path, [[maybe_unused]] int flags) noexcept {
#ifdef STATX_MNT_ID
  struct statx found {};
  if (statx(fd, path, flags, STATX_MNT_ID, &found) != 0) return 0;
  return (found.stx_mask & STATX_MNT_ID) != 0 ? found.stx_mnt_id : 0;
#else
  return 0;
#endif
}

}  // namespace

std::string realPath(const std::string& path) {
  const std::unique_ptr<char, FreeText> resolved{realpath(path.c_str(), nullptr)};
  return resolved ? std::string{resolved.get()} : std::string{};
}

PathParts partsOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

std::optional<FileIdentity> identityOf(const std::string& path) noexcept {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return std::nullopt;
  return FileIdentity{found.st_dev, found.st_ino};
}

std::optional<FileIdentity> identityOf(int fd) noexcept {
  struct stat found {};
  if (fstat(fd, &found) != 0) return std::nullopt;
  return FileIdentity{found.st_dev, found.st_ino};
}

std::optional<FileIdentity> identityOf(int directory, const std::string& name) noexcept {
  struct stat found {};
  if (fstatat(directory, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return FileIdentity{found.st_dev, found.st_ino};
}

std::uint64_t mountOf(const std::string& path) noexcept { return mountAt(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW); }
std::uint64_t mountOf(int fd) noexcept { return mountAt(fd, "", AT_EMPTY_PATH); }

bool hasMountPoint(std::istream& mountInfo, const std::string& path) {
  // "36 35 98:0 /root /mount/point rw,noatime ..."
  for (std::string line; std::getline(mountInfo, line);) {
    const auto fields = wordsOf(line);
    if (fields.size() > 4 && unescaped(std::string{fields[4]}) == path) return true;
  }
  return false;
}

bool isMountOfItsOwn(const std::string& file, const std::string& directory) {
  const auto found = identityOf(file);
  if (!found) return false;
  const std::uint64_t own = mountOf(file);
  const std::uint64_t around = mountOf(directory);
  if (own != 0 && around != 0) return own != around;
  if (std::ifstream mountInfo{"/proc/self/mountinfo"}) return hasMountPoint(mountInfo, file);
  const auto outer = identityOf(directory);
  return outer && outer->device != found->device;
}

std::string linkFault(const std::string& path, const SharedFileRisks& risks) {
  const std::string link = firstLink(path);
  if (link.empty()) return {};
  std::string resolved = realPath(path);
  if (resolved.empty() && link != path) {
    const auto [directory, name] = partsOf(path);
    if (const std::string real = realPath(directory); !real.empty()) resolved = joined(real, name);
  }
  if (resolved.empty()) {
    return link + " is a symbolic link to a file that does not exist here; give a path without links";
  }
  return link + " is a symbolic link; if it were switched to another file, " + std::string{risks.switched} +
         ". Give the path itself: " + resolved;
}

std::string mountFault(const std::string& file, const std::string& directory, const SharedFileRisks& risks) {
  if (!isMountOfItsOwn(file, directory)) return {};
  return file +
         " is a separate mount (a bind mount, `docker -v` of a single file, Kubernetes' subPath). Another container "
         "that mounts it has another directory around it, so " +
         std::string{risks.mounted} + ". Mount the whole directory " + directory + " instead";
}

std::string kindFault(const std::string& file, const SharedFileRisks& risks) {
  struct stat found {};
  if (lstat(file.c_str(), &found) != 0) return {};
  if (S_ISDIR(found.st_mode)) return file + " is a directory; give the path of a file in it";
  if (!S_ISREG(found.st_mode)) return file + " is not a regular file; give another path";
  if (found.st_nlink <= 1) return {};
  return file + " has " + std::to_string(found.st_nlink) + " names (hard links), and " + std::string{risks.linked} +
         "; remove the other names";
}

std::string networkFault(const std::string& directory, const SharedFileRisks& risks) {
  struct statfs system {};
  if (statfs(directory.c_str(), &system) != 0) return {};
  const auto name = detail::networkFileSystem(static_cast<std::uint32_t>(system.f_type));
  return name ? directory + " is on " + std::string{*name} + ", where " + std::string{risks.remote} : std::string{};
}

std::string sharedFileFault(const std::string& path, const SharedFileRisks& risks) {
  if (std::string fault = faultOfPath(path); !fault.empty()) return fault;
  if (std::string fault = linkFault(path, risks); !fault.empty()) return fault;
  const auto [directory, name] = partsOf(path);
  if (std::string fault = networkFault(directory, risks); !fault.empty()) return fault;
  if (std::string fault = kindFault(path, risks); !fault.empty()) return fault;
  const std::string real = realPath(directory);
  return real.empty() ? std::string{} : mountFault(joined(real, name), real, risks);
}

}  // namespace tenure
