#include "small_file.hpp"

#include <cstddef>

#include "lockcore/port/ascii_text.hpp"
#include "lockcore/runtime/regular_file.hpp"

namespace tenure::kubernetes_store {
namespace {

constexpr std::size_t longestSmallFile = std::size_t{64} << 10U;

}  // namespace

StoreResult<std::string> smallFile(const std::string& what, const std::string& path) {
  auto text = regularFile(path, longestSmallFile);
  if (!text) {
    const FileError& error = text.error();
    return StoreError{ErrorClass::credentials, "the " + what + " " + path + " " + error.why, !error.bySystem};
  }
  return std::string{trimmed(*text)};
}

}  // namespace tenure::kubernetes_store
