#include "directory_listing.hpp"

#include <dirent.h>
#include <memory>

namespace tenure::sqlite_store {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { closedir(directory); }
};

}  // namespace

std::vector<std::string> namesIn(const std::string& directory, std::string_view prefix) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, CloseDirectory> open{opendir(directory.c_str())};
  if (!open) return names;
  while (const dirent* entry = readdir(open.get())) {
    const std::string_view name{static_cast<const char*>(entry->d_name)};
    if (name != "." && name != ".." && name.starts_with(prefix)) names.emplace_back(name);
  }
  return names;
}

}  // namespace tenure::sqlite_store
