// Directories: the names in one, and making one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tenure/lockcore/store_error.hpp>

namespace tenure {

/// The names that start with `prefix`, in no order; none if the directory cannot be read.
[[nodiscard]] std::vector<std::string> namesIn(const std::string& directory, std::string_view prefix = {});

/// The same for callers that must know all of them. Returns 0, or the errno of the failure.
[[nodiscard]] int namesIn(const std::string& directory, std::string_view prefix, std::vector<std::string>& names);

/// Creates a directory in an existing one unless it exists. Refuses a symbolic link, because other users may be able to
/// create one.
[[nodiscard]] StoreResult<void> makeDirectory(const std::string& store, const std::string& directory);

}  // namespace tenure
