#include "working_directory.hpp"

#include <cstdlib>
#include <sys/stat.h>

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
