#include "library_version.hpp"

#include <sqlite3.h>

namespace tenure::sqlite_store {

std::string libraryVersion() { return sqlite3_libversion(); }

}  // namespace tenure::sqlite_store
