#include "passfile.hpp"

#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

namespace tenure::postgresql_store {
namespace {

struct Passfile {
  std::string path{};
  bool isNamed{false};  ///< by somebody; the one of libpq's default may be missing
};

Passfile passfileIn(const Settings& found) {
  if (const auto at = found.find("passfile"); at != found.end()) return {at->second, true};
  const char* home = std::getenv("HOME");
  return {home == nullptr || *home == '\0' ? std::string{} : std::string{home} + "/.pgpass", false};
}

}  // namespace

PassfileState passfileState(const Settings& found) {
  const Passfile file = passfileIn(found);
  const std::string name = "the passfile " + inOneLine(file.path.c_str());
  struct stat seen {};
  if (file.path.empty()) return {};
  if (stat(file.path.c_str(), &seen) != 0) {
    return {file.isNamed ? name + " cannot be read" : std::string{}, false};
  }
  if (!S_ISREG(seen.st_mode)) return {name + " is ignored, because it is no plain file", true};
  if ((seen.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return {name +
                " is ignored, because others than its owner may use it: chmod 600, or give the password alone in "
                "store.password_file, which may have any mode",
            true};
  }
  if (access(file.path.c_str(), R_OK) != 0) return {name + " cannot be read by this user", false};
  return {};
}

}  // namespace tenure::postgresql_store
