// Who may open the files that this process makes, whatever its umask.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

#include <tenure/lockcore/export.hpp>

#include "unique_fd.hpp"

namespace tenure {

/// Permission bits of files and, where the group has a right, the group. A directory is also searched by those that may
/// read its files.
struct FileRights {
  mode_t mode{0600};
  std::optional<gid_t> group{};
  std::optional<uid_t> owner{};  ///< given by root only; other users keep what they make

  friend bool operator==(const FileRights&, const FileRights&) = default;
};

[[nodiscard]] inline mode_t directoryModeFor(mode_t files) noexcept { return files | ((files & 0444U) >> 2U); }

/// "0640".
[[nodiscard]] TENURE_API std::string modeText(mode_t mode);

/// open(2) with O_NOFOLLOW and O_CLOEXEC. A missing file is made, and never has more rights than these. Empty with
/// errno set. A group that this user may not give is left out.
[[nodiscard]] TENURE_API UniqueFd fileWithRights(const std::string& path, int flags, const FileRights& rights) noexcept;

/// Makes a missing file without opening it. 0 or an errno; EPERM also for a group that this user may not give.
[[nodiscard]] TENURE_API int makeFile(const std::string& path, const FileRights& rights) noexcept;

/// mkdir(2). 0 or an errno. A group that this user may not give is left out.
[[nodiscard]] TENURE_API int makeDirectoryWith(const std::string& path, const FileRights& rights) noexcept;

}  // namespace tenure

namespace tenure::detail {

/// The name of the network (or cluster, or FUSE) file system with this statfs(2) type; empty for local ones. On these,
/// neither shared memory nor flock(2) nor the order of renames is reliable between machines.
[[nodiscard]] TENURE_API std::optional<std::string_view> networkFileSystem(std::uint32_t fileSystemType) noexcept;

}  // namespace tenure::detail
