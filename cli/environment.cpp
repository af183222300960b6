#include "environment.hpp"

#include <cstdlib>

namespace tenure::cli {

std::string environmentText(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): see the header
  return value != nullptr ? value : "";
}

}  // namespace tenure::cli
