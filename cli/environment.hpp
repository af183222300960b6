// The environment of this process, read.
#pragma once

#include <string>

namespace tenure::cli {

/// Empty if the variable is not set. The program never sets variables, so any thread may read them.
[[nodiscard]] std::string environmentText(const char* name);

}  // namespace tenure::cli
