#include "names_read.hpp"

#include <atomic>
#include <dirent.h>
#include <dlfcn.h>

namespace {

std::atomic<std::uint64_t> count{0};

}  // namespace

/// In place of the C library's for whatever this program is linked of.
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): that one has a reserved name
extern "C" dirent* readdir(DIR* directory) {
  static const auto real = reinterpret_cast<dirent* (*)(DIR*)>(dlsym(RTLD_NEXT, "readdir"));
  dirent* const entry = real(directory);
  if (entry != nullptr) ++count;
  return entry;
}

namespace tenure::sqlite_test {

std::uint64_t namesRead() noexcept { return count; }

}  // namespace tenure::sqlite_test
