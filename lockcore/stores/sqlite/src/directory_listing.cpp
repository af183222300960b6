#include "directory_listing.hpp"

#include <cerrno>
#include <dirent.h>
#include <memory>

namespace tenure::sqlite_store {
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

}  // namespace tenure::sqlite_store
