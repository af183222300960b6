// The names in a directory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenure::sqlite_store {

/// Those that start with `prefix`, in no order; none if the directory cannot be read.
[[nodiscard]] std::vector<std::string> namesIn(const std::string& directory, std::string_view prefix = {});

/// The same for those who must know them all: 0, or the errno that kept it from finding out.
[[nodiscard]] int namesIn(const std::string& directory, std::string_view prefix, std::vector<std::string>& names);

}  // namespace tenure::sqlite_store
