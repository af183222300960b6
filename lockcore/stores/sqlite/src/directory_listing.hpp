// The names in a directory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenure::sqlite_store {

/// Those that start with `prefix`, in no order; none if the directory cannot be read.
[[nodiscard]] std::vector<std::string> namesIn(const std::string& directory, std::string_view prefix = {});

}  // namespace tenure::sqlite_store
