// Which SQLite this process has loaded.
#pragma once

#include <string>

namespace tenure::sqlite_store {

/// Such as `3.40.1`.
[[nodiscard]] std::string libraryVersion();

}  // namespace tenure::sqlite_store
