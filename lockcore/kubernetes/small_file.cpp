#include "small_file.hpp"

#include <cstddef>

#include "lockcore/runtime/regular_file.hpp"

namespace tenure::kubernetes_store {
namespace {

constexpr std::size_t longestSmallFile = std::size_t{64} << 10U;
constexpr const char* whiteSpace = " \t\r\n";

}  // namespace

StoreResult<std::string> smallFile(const std::string& what, const std::string& path) {
  auto text = regularFile(path, longestSmallFile);
  if (!text) {
    const FileError& error = text.error();
    return StoreError{ErrorClass::credentials, "the " + what + " " + path + " " + error.why, !error.bySystem};
  }
  text->erase(0, text->find_first_not_of(whiteSpace));
  text->erase(text->find_last_not_of(whiteSpace) + 1);
  return *std::move(text);
}

}  // namespace tenure::kubernetes_store
