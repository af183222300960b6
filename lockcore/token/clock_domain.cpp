#include <algorithm>
#include <fstream>
#include <string>

#include "lock_token_parts.hpp"
#include "lockcore/port/ascii_text.hpp"

namespace tenure {
namespace {

/// Containers may have clocks that are shifted against the machine's (time_namespaces(7)). Takes the number out of
/// "time:[4026531834]". A kernel without such namespaces has only one set of clocks.
std::string timeNamespace() {
  char target[64];
  const ssize_t length = readlink("/proc/self/ns/time", target, sizeof target);
  std::string number;
  std::copy_if(target, target + std::max<ssize_t>(length, 0), std::back_inserter(number), isDigit);
  return number;
}

std::string readDomain() {
  std::ifstream file{"/proc/sys/kernel/random/boot_id"};
  std::string boot;
  std::getline(file, boot);
  if (boot.empty()) return {};
  const std::string space = timeNamespace();
  return space.empty() ? boot : boot + '.' + space;
}

}  // namespace

/// It is never destroyed, as the system's clock.
const std::string& clockDomain() {
  static const auto* const domain = new std::string{readDomain()};  // lint-allow(raw-new): see above
  return *domain;
}

}  // namespace tenure
