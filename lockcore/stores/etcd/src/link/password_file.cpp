#include "password_file.hpp"

#include <cstddef>

#include "lockcore/runtime/regular_file.hpp"

namespace tenure::etcd_store {

StoreResult<std::string> passwordIn(const std::string& path) {
  constexpr std::size_t longest = std::size_t{64} << 10U;
  const auto refused = [&](const std::string& why, bool permanent = true) {
    return StoreError{ErrorClass::credentials, "the password file " + path + " " + why, permanent};
  };
  const auto text = regularFile(path, longest);
  if (!text) return refused(text.error().why, !text.error().bySystem);
  std::string line = text->substr(0, text->find('\n'));
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (line.empty()) return refused("has no password in its first line");
  return line;
}

}  // namespace tenure::etcd_store
