// What a help text says of the stores, from the list of them.
#pragma once

#include <string>

namespace tenure::cli {

/// The text of `tenure init --help`, with a paragraph for each store of this build.
[[nodiscard]] std::string initHelp();

}  // namespace tenure::cli
