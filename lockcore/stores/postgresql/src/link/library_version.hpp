// Which libpq this process has loaded.
#pragma once

#include <string>

#include <tenure/lockcore/export.hpp>

namespace tenure::postgresql_store {

/// Such as `15.14`.
[[nodiscard]] TENURE_API std::string libraryVersion();

}  // namespace tenure::postgresql_store
