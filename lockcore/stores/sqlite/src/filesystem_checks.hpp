// What is refused before SQLite opens a path.
#pragma once

#include <string>

#include <tenure/lockcore/store_error.hpp>

#include "file_identity.hpp"

namespace tenure::sqlite_store {

/// Checks the path and its surroundings: no component is a symbolic link; the directory exists, is local and writable;
/// the file, if there is one, is a regular, writable file with one name, and not a mount of its own. `exists` says
/// whether there is a file. The check is cheap and is done at each opening, so that a repair is noticed.
struct CheckedFiles {
  StoreFiles files;
  bool exists{false};
  bool mayWrite{true};  ///< this user may write what is there of the file, its log and its directories
};
/// `reads`: a user that may only read is not refused.
enum class Access { writes, reads };
[[nodiscard]] StoreResult<CheckedFiles> checkFiles(const std::string& store, const std::string& path,
                                                   Access access = Access::writes);

}  // namespace tenure::sqlite_store
