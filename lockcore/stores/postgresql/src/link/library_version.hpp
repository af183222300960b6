// Which libpq this process has loaded.
#pragma once

#include <string>

namespace tenure::postgresql_store {

/// Such as `15.14`.
[[nodiscard]] std::string libraryVersion();

}  // namespace tenure::postgresql_store
