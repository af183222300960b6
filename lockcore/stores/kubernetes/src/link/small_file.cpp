#include "small_file.hpp"

#include <cerrno>
#include <cstddef>
#include <fstream>
#include <system_error>

namespace tenure::kubernetes_store {
namespace {

constexpr std::size_t longestSmallFile = std::size_t{64} << 10U;
constexpr const char* whiteSpace = " \t\r\n";

}  // namespace

StoreResult<std::string> smallFile(const std::string& what, const std::string& path) {
  const auto refused = [&](const std::string& why) {
    return StoreError{ErrorClass::credentials, "the " + what + " " + path + " " + why};
  };
  errno = 0;
  std::ifstream file{path, std::ios::binary};
  if (!file) return refused("cannot be read: " + std::generic_category().message(errno));
  std::string text(longestSmallFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return refused("cannot be read");
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > longestSmallFile) return refused("is longer than 64 KiB");
  text.erase(0, text.find_first_not_of(whiteSpace));
  text.erase(text.find_last_not_of(whiteSpace) + 1);
  return text;
}

}  // namespace tenure::kubernetes_store
