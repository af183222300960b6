#include "filesystem_checks.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#include <utility>

#include <climits>

#include "lockcore/runtime/network_file_system.hpp"
#include "lockcore/runtime/system_error.hpp"

namespace tenure::sqlite_store {
namespace {

/// A fault that waiting does not mend.
StoreError refusal(const std::string& store, std::string text) {
  return {ErrorClass::misconfigured, store + ": " + std::move(text), true};
}

/// A fault that an operator may mend while candidates wait.
StoreError missing(const std::string& store, std::string text) {
  return {ErrorClass::misconfigured, store + ": " + std::move(text)};
}

struct FreeText {
  void operator()(char* text) const noexcept { std::free(text); }
};

/// realpath(3); empty with errno set if there is no such thing.
std::string realPath(const std::string& path) {
  const std::unique_ptr<char, FreeText> resolved{realpath(path.c_str(), nullptr)};
  return resolved ? std::string{resolved.get()} : std::string{};
}

StoreFiles filesFor(const std::string& directory, const std::string& name) {
  const std::string inDirectory = directory == "/" ? directory : directory + '/';
  StoreFiles files;
  files.directory = directory;
  files.database = inDirectory + name;
  files.wal = files.database + "-wal";
  files.shm = files.database + "-shm";
  files.sidecar = inDirectory + '.' + name + ".tenure";
  return files;
}

std::optional<StoreError> faultOfDirectory(const std::string& store, const std::string& directory) {
  struct statfs system {};
  if (statfs(directory.c_str(), &system) != 0) return systemError(store, "looking at directory " + directory, errno);
  if (const auto name = detail::networkFileSystem(static_cast<std::uint32_t>(system.f_type))) {
    return refusal(store, directory + " is on " + std::string{*name} +
                              ", where neither SQLite nor file locks can be relied on between machines; put the file "
                              "on a local disk, or use a store for many machines");
  }
  return std::nullopt;
}

std::optional<StoreError> unwritableDirectory(const std::string& store, const std::string& directory) {
  if (faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return std::nullopt;
  return missing(store, "directory " + directory + " is not writable (" + errnoText(errno) +
                            "); SQLite keeps its log beside the database, so make the directory writable for this "
                            "user, or give another path");
}

std::optional<StoreError> unwritableFile(const std::string& store, const std::string& file) {
  if (faccessat(AT_FDCWD, file.c_str(), R_OK | W_OK, AT_EACCESS) == 0 || errno == ENOENT) return std::nullopt;
  return missing(store, file + " is not readable and writable for this user (" + errnoText(errno) +
                            "); change its permissions, or give another path");
}

std::optional<StoreError> faultOfFile(const std::string& store, const std::string& file, const struct stat& found) {
  if (S_ISDIR(found.st_mode)) return refusal(store, file + " is a directory; give the path of a file in it");
  if (!S_ISREG(found.st_mode)) return refusal(store, file + " is not a regular file; give another path");
  if (found.st_nlink > 1) {
    // Each name would have its own -wal file: two writers would not see each other and would damage the database.
    return refusal(store, file + " has " + std::to_string(found.st_nlink) +
                              " names (hard links), and SQLite keeps a separate log for each; remove the other names");
  }
  return std::nullopt;
}

bool isLink(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 && S_ISLNK(found.st_mode);
}

/// The first component that is a symbolic link, as a path; empty if there is none.
std::string firstLink(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    std::string part = path.substr(0, slash);
    if (isLink(part)) return part;
    if (slash == std::string::npos) return {};
  }
}

/// If somebody switched such a link (a deploy's `current`), a leader would go on in the old file while another
/// candidate is elected in the new one.
std::optional<StoreError> faultOfLinks(const std::string& store, const std::string& path, const std::string& directory,
                                       const std::string& name) {
  const std::string link = firstLink(path);
  if (link.empty()) return std::nullopt;
  std::string resolved = realPath(path);
  if (resolved.empty() && link != path) {
    if (const std::string real = realPath(directory); !real.empty()) resolved = filesFor(real, name).database;
  }
  if (resolved.empty()) {
    return refusal(store, link + " is a symbolic link to a file that does not exist here; give a path without links");
  }
  return refusal(
      store, link +
                 " is a symbolic link; if it were switched to another file, each of the two files could have a leader. "
                 "Give the path itself: " +
                 resolved);
}

/// Containers that each mount only the file have different directories beside it, so each would have its own log and
/// liveness files.
std::optional<StoreError> faultOfMounts(const std::string& store, const StoreFiles& files) {
  for (const std::string& path : {files.database, files.wal, files.shm, files.sidecar}) {
    if (!isMountOfItsOwn(path, files.directory)) continue;
    return refusal(
        store, path +
                   " is a mount of its own (a bind mount, `docker -v` of a single file, Kubernetes' subPath). "
                   "Another container that mounts it has another directory beside it, so the two would not see each "
                   "other's log and both would lead. Mount the whole directory " +
                   files.directory + " instead");
  }
  return std::nullopt;
}

std::pair<std::string, std::string> split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

StoreResult<CheckedFiles> checkFiles(const std::string& store, const std::string& path, Access access) {
  auto [directory, name] = split(path);
  if (path.find('\0') != std::string::npos) return refusal(store, "the path holds a NUL character");
  if (name.empty() || name == "." || name == "..") {
    return refusal(store, "the path names no file; give one, such as ./tenure.db");
  }
  if (auto fault = faultOfLinks(store, path, directory, name)) return std::move(*fault);
  const std::string realDirectory = realPath(directory + "/.");
  if (realDirectory.empty()) {
    const int fault = errno;
    if (fault == ENOTDIR) return refusal(store, directory + " is not a directory; give another path");
    if (fault != ENOENT) return systemError(store, "looking at directory " + directory, fault);
    return missing(store, "directory " + directory + " does not exist; create it, or give another path");
  }
  if (auto fault = faultOfDirectory(store, realDirectory)) return std::move(*fault);
  StoreFiles files = filesFor(realDirectory, name);
  // Other processes may create or remove the file between any two checks; neither is a fault.
  struct stat found {};
  const bool exists = lstat(files.database.c_str(), &found) == 0;
  if (!exists && errno != ENOENT) return systemError(store, "looking at " + files.database, errno);
  if (exists) {
    if (auto fault = faultOfFile(store, files.database, found)) return std::move(*fault);
  }
  if (auto fault = faultOfMounts(store, files)) return std::move(*fault);
  std::optional<StoreError> unwritable = unwritableDirectory(store, files.directory);
  if (!unwritable && exists) unwritable = unwritableFile(store, files.database);
  if (unwritable && access == Access::writes) return std::move(*unwritable);
  return CheckedFiles{std::move(files), exists, !unwritable};
}

}  // namespace tenure::sqlite_store
