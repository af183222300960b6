#include "directory.hpp"

#include <cerrno>
#include <cstdlib>
#include <dirent.h>
#include <memory>
#include <sys/stat.h>

#include "system_error.hpp"

namespace tenure {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { closedir(directory); }
};

}  // namespace

int namesIn(const std::string& directory, std::string_view prefix, std::vector<std::string>& names) {
  const std::unique_ptr<DIR, CloseDirectory> open{opendir(directory.c_str())};
  if (!open) return errno;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(open.get());
    if (entry == nullptr) return errno;
    const std::string_view name{static_cast<const char*>(entry->d_name)};
    if (name != "." && name != ".." && name.starts_with(prefix)) names.emplace_back(name);
  }
}

std::vector<std::string> namesIn(const std::string& directory, std::string_view prefix) {
  std::vector<std::string> names;
  if (namesIn(directory, prefix, names) != 0) return {};
  return names;
}

StoreResult<void> makeDirectory(const std::string& store, const std::string& directory,
                                const std::optional<FileRights>& rights) {
  int fault = 0;
  if (rights) {
    fault = makeDirectoryWith(directory, *rights);
  } else if (mkdir(directory.c_str(), 0777) != 0) {
    fault = errno;
  }
  if (fault == 0) return {};
  struct stat found {};
  if (fault != EEXIST || lstat(directory.c_str(), &found) != 0) {
    return systemError(store, "making directory " + directory, fault);
  }
  if (S_ISDIR(found.st_mode)) return {};
  // If somebody switched a link, processes that use the previous directory would not see those that use the new one.
  return StoreError{ErrorClass::misconfigured,
                    store + ": " + directory +
                        (S_ISLNK(found.st_mode) ? " is a symbolic link, and candidates find each other in the "
                                                  "directory itself; remove the link, then a directory is made"
                                                : " is not a directory; move it away, then one is made")};
}

}  // namespace tenure

namespace tenure::detail {
namespace {

bool isHere(const char* path) noexcept {
  struct stat named {};
  struct stat here {};
  return stat(path, &named) == 0 && stat(".", &here) == 0 && named.st_dev == here.st_dev && named.st_ino == here.st_ino;
}

}  // namespace

std::filesystem::path workingDirectory(std::error_code& fault) {
  const char* const named = std::getenv("PWD");
  if (named != nullptr && *named == '/' && isHere(named)) return named;
  return std::filesystem::current_path(fault);
}

}  // namespace tenure::detail
