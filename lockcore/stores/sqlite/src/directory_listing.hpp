// The names in a directory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenure::sqlite_store {

/// The names that start with `prefix`, in no order; none if the directory cannot be read.
[[nodiscard]] std::vector<std::string> namesIn(const std::string& directory, std::string_view prefix = {});

/// The same for callers that must know all of them. Returns 0, or the errno of the failure.
[[nodiscard]] int namesIn(const std::string& directory, std::string_view prefix, std::vector<std::string>& names);

}  // namespace tenure::sqlite_store
