#include "filesystem_checks.hpp"

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#include <utility>

#include <climits>

#include "access.hpp"
#include "lockcore/runtime/system_error.hpp"

namespace tenure::sqlite_store {
namespace {

/// A fault that waiting does not mend.
StoreError errorFrom(const std::string& store, std::string text) {
  return {ErrorClass::misconfigured, store + ": " + std::move(text), true};
}

/// A fault that an operator may mend while candidates wait.
StoreError missing(const std::string& store, std::string text) {
  return {ErrorClass::misconfigured, store + ": " + std::move(text)};
}

constexpr SharedFileRisks risks{
    .switched = "each of the two files could have a leader",
    .mounted = "the two would not see each other's log and both would lead",
    // Two writers would not see each other and would damage the database.
    .linked = "SQLite keeps a separate log for each",
    .remote =
        "neither SQLite nor file locks can be relied on between machines; put the file on a local disk, or use a "
        "store for many machines",
};

std::optional<StoreError> errorIf(const std::string& store, std::string fault) {
  if (fault.empty()) return std::nullopt;
  return errorFrom(store, std::move(fault));
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

/// SQLite keeps room for "-journal" in the 512 bytes that its Unix VFS has for a path, and says only that it cannot
/// open a longer one.
std::string lengthFault(const StoreFiles& files) {
  constexpr std::size_t longestPath = 504;
  constexpr std::size_t longestName = NAME_MAX - std::string_view{"-journal"}.size();
  const std::size_t name = files.database.size() - files.database.rfind('/') - 1;
  if (files.database.size() <= longestPath && name <= longestName) return {};
  return "the path has " + std::to_string(files.database.size()) + " bytes and its last part " + std::to_string(name) +
         "; SQLite takes at most " + std::to_string(longestPath) + " and " + std::to_string(longestName) +
         ", so give a shorter one";
}

std::optional<StoreError> faultOfDirectory(const std::string& store, const std::string& directory) {
  struct statfs system {};
  if (statfs(directory.c_str(), &system) != 0) return systemError(store, "examining directory " + directory, errno);
  return errorIf(store, networkFault(directory, risks));
}

std::optional<StoreError> unwritableDirectory(const std::string& store, const std::string& directory) {
  if (faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return std::nullopt;
  return missing(store, "directory " + directory + " is not writable (" + errnoText(errno) +
                            "); SQLite keeps its log next to the database, so make the directory writable for this "
                            "user, or give another path");
}

std::optional<StoreError> unwritableFile(const std::string& store, const std::string& file) {
  if (faccessat(AT_FDCWD, file.c_str(), R_OK | W_OK, AT_EACCESS) == 0 || errno == ENOENT) return std::nullopt;
  return missing(store, file + " is not readable and writable for this user (" + errnoText(errno) +
                            "); change its permissions, or give another path");
}

std::optional<StoreError> faultOfMounts(const std::string& store, const StoreFiles& files) {
  for (const std::string& path : {files.database, files.wal, files.shm, files.sidecar}) {
    if (auto fault = errorIf(store, mountFault(path, files.directory, risks))) return fault;
  }
  return std::nullopt;
}

}  // namespace

StoreResult<CheckedFiles> checkFiles(const std::string& store, const std::string& path, Access access) {
  const auto [directory, name] = partsOf(path);
  if (path.find('\0') != std::string::npos) return errorFrom(store, "the path holds a NUL character");
  if (name.empty() || name == "." || name == "..") {
    return errorFrom(store, "the path names no file; give one, such as ./tenure.db");
  }
  if (auto fault = errorIf(store, linkFault(path, risks))) return std::move(*fault);
  const std::string realDirectory = realPath(directory + "/.");
  if (realDirectory.empty()) {
    const int fault = errno;
    if (fault == ENOTDIR) return errorFrom(store, directory + " is not a directory; give another path");
    if (fault != ENOENT) return systemError(store, "examining directory " + directory, fault);
    return missing(store, "directory " + directory + " does not exist; create it, or give another path");
  }
  if (auto fault = faultOfDirectory(store, realDirectory)) return std::move(*fault);
  StoreFiles files = filesFor(realDirectory, name);
  if (auto fault = errorIf(store, lengthFault(files))) return std::move(*fault);
  // Other processes may create or remove the file between any two checks; neither is a fault.
  struct stat found {};
  const bool exists = lstat(files.database.c_str(), &found) == 0;
  if (!exists && errno != ENOENT) return systemError(store, "examining " + files.database, errno);
  if (exists) {
    if (auto fault = errorIf(store, kindFault(files.database, risks))) return std::move(*fault);
  }
  if (auto fault = faultOfMounts(store, files)) return std::move(*fault);
  std::optional<StoreError> unwritable = unwritableDirectory(store, files.directory);
  if (!unwritable && exists) unwritable = unwritableFile(store, files.database);
  if (!unwritable) {
    if (std::string closed = closedFile(files); !closed.empty()) unwritable = missing(store, std::move(closed));
  }
  if (unwritable && access == Access::writes) return std::move(*unwritable);
  return CheckedFiles{std::move(files), exists, !unwritable};
}

}  // namespace tenure::sqlite_store
