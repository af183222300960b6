// The environment of this process, read.
#pragma once

#include <cstdlib>
#include <string>

namespace tenure::cli {

/// Empty if the variable is not set. The program never sets variables, so any thread may read them.
[[nodiscard]] inline std::string environmentText(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): see above
  return value != nullptr ? value : "";
}

}  // namespace tenure::cli
