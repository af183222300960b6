// The versions of this program and of the libraries that it has loaded.
#pragma once

#include <vector>

#include "facts.hpp"

namespace tenure::cli::doctor {

[[nodiscard]] std::vector<Version> versionsHere();

}  // namespace tenure::cli::doctor
