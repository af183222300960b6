// File systems on which no files may be that need locks between processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <tenure/lockcore/export.hpp>

namespace tenure::detail {

/// The name of the network (or cluster, or FUSE) file system with this statfs(2) type; empty for local ones. On these,
/// neither shared memory nor flock(2) nor the order of renames is reliable between machines.
[[nodiscard]] TENURE_API std::optional<std::string_view> networkFileSystem(std::uint32_t fileSystemType) noexcept;

}  // namespace tenure::detail
