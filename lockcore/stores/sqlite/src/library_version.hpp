// Which SQLite this process has loaded.
#pragma once

#include <string>

#include <tenure/lockcore/export.hpp>

namespace tenure::sqlite_store {

/// Such as `3.40.1`.
[[nodiscard]] TENURE_API std::string libraryVersion();

}  // namespace tenure::sqlite_store
