#include "host_name.hpp"

#include <array>
#include <unistd.h>

namespace tenure {

std::optional<std::string> hostName() {
  std::array<char, 256> name{};
  // A name as long as the array may come without a NUL; the last byte stays one.
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return std::nullopt;
  return std::string{name.data()};
}

}  // namespace tenure
