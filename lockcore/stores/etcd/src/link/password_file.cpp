#include "password_file.hpp"

#include <cerrno>
#include <fstream>
#include <system_error>

namespace tenure::etcd_store {

StoreResult<std::string> passwordIn(const std::string& path) {
  const auto refused = [&](const std::string& why) {
    return StoreError{ErrorClass::credentials, "the password file " + path + " " + why};
  };
  errno = 0;
  std::ifstream file{path};
  if (!file) return refused("cannot be read: " + std::generic_category().message(errno));
  std::string line;
  std::getline(file, line);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (line.empty()) return refused("has no password in its first line");
  return line;
}

}  // namespace tenure::etcd_store
