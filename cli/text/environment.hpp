// The environment of this process, read.
#pragma once

#include <cstdlib>
#include <string>

namespace tenure::cli {

/// Empty if the variable is not set. The program changes its environment only before
/// its first thread starts, so any thread may read it.
[[nodiscard]] inline std::string environmentText(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): see above
  return value != nullptr ? value : "";
}

}  // namespace tenure::cli
