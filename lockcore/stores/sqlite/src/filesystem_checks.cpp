#include "filesystem_checks.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <tuple>
#include <unistd.h>
#include <utility>

#include <climits>

#include <tenure/lockcore/detail/network_file_system.hpp>

#include "errors.hpp"

namespace tenure::sqlite_store {
namespace {

/// What no waiting mends.
StoreError refusal(const std::string& store, std::string text) {
  return {ErrorClass::misconfigured, store + ": " + std::move(text), true};
}

/// What an operator may mend while candidates wait.
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

StoreFiles filesFor(const std::string& path, const std::string& directory, const std::string& name) {
  StoreFiles files;
  files.path = path;
  files.database = (directory == "/" ? directory : directory + '/') + name;
  files.wal = files.database + "-wal";
  files.shm = files.database + "-shm";
  files.sidecar = (directory == "/" ? directory : directory + '/') + '.' + name + ".tenure";
  return files;
}

std::optional<StoreError> faultOfDirectory(const std::string& store, const std::string& directory) {
  struct stat found {};
  if (stat(directory.c_str(), &found) != 0) return systemError(store, "looking at directory " + directory, errno);
  if (!S_ISDIR(found.st_mode)) return refusal(store, directory + " is not a directory; give another path");
  struct statfs system {};
  if (statfs(directory.c_str(), &system) != 0) return systemError(store, "looking at directory " + directory, errno);
  if (const auto name = detail::networkFileSystem(static_cast<std::uint32_t>(system.f_type))) {
    return refusal(store, directory + " is on " + std::string{*name} +
                              ", where neither SQLite nor file locks can be relied on between machines; put the file "
                              "on a local disk, or use a store for many machines");
  }
  if (faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return std::nullopt;
  return missing(store, "directory " + directory + " is not writable (" + errnoText(errno) +
                            "); SQLite keeps its log beside the database, so make the directory writable for this "
                            "user, or give another path");
}

std::optional<StoreError> faultOfFile(const std::string& store, const std::string& file, const struct stat& found) {
  if (S_ISDIR(found.st_mode)) return refusal(store, file + " is a directory; give the path of a file in it");
  if (!S_ISREG(found.st_mode)) return refusal(store, file + " is not a regular file; give another path");
  if (found.st_nlink > 1) {
    // Each name would have its own -wal file: two writers would not see each other and would damage the database.
    return refusal(store, file + " has " + std::to_string(found.st_nlink) +
                              " names (hard links), and SQLite keeps a separate log for each; remove the other names");
  }
  if (faccessat(AT_FDCWD, file.c_str(), R_OK | W_OK, AT_EACCESS) == 0 || errno == ENOENT) return std::nullopt;
  return missing(store, file + " is not readable and writable for this user (" + errnoText(errno) +
                            "); change its permissions, or give another path");
}

bool isLink(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 && S_ISLNK(found.st_mode);
}

std::pair<std::string, std::string> split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

StoreResult<CheckedFiles> checkFiles(const std::string& store, const std::string& path) {
  auto [directory, name] = split(path);
  if (path.find('\0') != std::string::npos) return refusal(store, "the path holds a NUL character");
  if (name.empty() || name == "." || name == "..") {
    return refusal(store, "the path names no file; give one, such as ./tenure.db");
  }
  // Other processes may make or remove the file between any two looks; neither is a fault.
  std::string real = realPath(path);
  if (real.empty() && errno != ENOENT && errno != ENOTDIR) return systemError(store, "looking at " + path, errno);
  if (real.empty() && isLink(path)) {
    real = realPath(path);
    if (real.empty()) {
      return missing(store, path + " is a symbolic link to nothing; make what it points to, or remove the link");
    }
  }
  struct stat found {};
  const bool exists = !real.empty() && stat(real.c_str(), &found) == 0;
  if (!real.empty() && !exists && errno != ENOENT) return systemError(store, "looking at " + path, errno);
  if (!real.empty()) std::tie(directory, name) = split(real);
  std::string realDirectory = realPath(directory);
  if (realDirectory.empty()) {
    return missing(store, "directory " + directory + " does not exist (" + errnoText(errno) +
                              "); create it, or give another path");
  }
  if (auto fault = faultOfDirectory(store, realDirectory)) return std::move(*fault);
  StoreFiles files = filesFor(path, realDirectory, name);
  if (exists) {
    if (auto fault = faultOfFile(store, files.database, found)) return std::move(*fault);
  }
  return CheckedFiles{std::move(files), exists};
}

}  // namespace tenure::sqlite_store
