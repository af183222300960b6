// What is refused before SQLite is let near a path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/store_error.hpp>

#include "file_identity.hpp"

namespace tenure::sqlite_store {

/// The name of the network (or cluster, or FUSE) file system with this statfs(2) type; empty for local ones. Between
/// machines neither SQLite's shared memory nor flock(2) can be relied on.
[[nodiscard]] std::optional<std::string_view> networkFileSystem(std::uint32_t fileSystemType) noexcept;

/// Resolves the path and checks its surroundings: the directory exists, is local and writable; the file, if there
/// is one, is a regular, writable file with one name. Whether there is a file is told by `exists`. Cheap, done at
/// each opening, so that a repair is noticed.
struct CheckedFiles {
  StoreFiles files;
  bool exists{false};
};
[[nodiscard]] StoreResult<CheckedFiles> checkFiles(const std::string& store, const std::string& path);

}  // namespace tenure::sqlite_store
