// Files that processes share by their path: whether all of them reach the same file, and the same files beside it.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/export.hpp>

namespace tenure {

/// While a file is open, its inode number is not given to another file, so equal values mean the same file.
struct FileIdentity {
  std::uint64_t device{0};
  std::uint64_t inode{0};

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// Empty if the path names nothing, or something that stat cannot read.
[[nodiscard]] TENURE_API std::optional<FileIdentity> identityOf(const std::string& path) noexcept;
[[nodiscard]] TENURE_API std::optional<FileIdentity> identityOf(int fd) noexcept;
/// Of a name in an open directory. A link is not followed: it has an identity itself.
[[nodiscard]] TENURE_API std::optional<FileIdentity> identityOf(int directory, const std::string& name) noexcept;

/// The mount through which the path reaches its file; a link as the last component is not followed. 0 if the kernel
/// does not say (before Linux 5.8), or if there is no such file.
[[nodiscard]] TENURE_API std::uint64_t mountOf(const std::string& path) noexcept;
/// The mount through which the descriptor was opened; 0 if the kernel does not say.
[[nodiscard]] TENURE_API std::uint64_t mountOf(int fd) noexcept;

/// Whether the file is reached through another mount than the directory that contains its name: a bind mount of a
/// single file. False if there is no such file.
[[nodiscard]] TENURE_API bool isMountOfItsOwn(const std::string& file, const std::string& directory);

/// The same from the text of /proc/self/mountinfo, for kernels that do not report the mount.
[[nodiscard]] TENURE_API bool hasMountPoint(std::istream& mountInfo, const std::string& path);

/// What would go wrong with files of this kind, as the middle of a sentence.
struct SharedFileRisks {
  std::string_view switched;  ///< "if it were switched to another file, ..."
  std::string_view mounted;   ///< another container "has another directory beside it, so ..."
  std::string_view linked;    ///< "has 2 names (hard links), and ...; remove the other names"
  std::string_view remote;    ///< the directory "is on NFS, where ..."
};

// What is refused, as a sentence that says what to do; empty: nothing.

/// A component of the path that is a symbolic link. If somebody switched it (a deploy's `current`), processes would use
/// two files.
[[nodiscard]] TENURE_API std::string linkFault(const std::string& path, const SharedFileRisks& risks);
/// A mount of its own. Containers that each mount only the file have different directories beside it.
[[nodiscard]] TENURE_API std::string mountFault(const std::string& file, const std::string& directory,
                                                const SharedFileRisks& risks);
/// Not a regular file with one name. Empty also if there is no such file.
[[nodiscard]] TENURE_API std::string kindFault(const std::string& file, const SharedFileRisks& risks);
/// A directory on a file system of other machines. Empty also if there is no such directory.
[[nodiscard]] TENURE_API std::string networkFault(const std::string& directory, const SharedFileRisks& risks);
/// All of these.
[[nodiscard]] TENURE_API std::string sharedFileFault(const std::string& path, const SharedFileRisks& risks);

/// The directory of a path, and the name in it: "." for a name alone.
struct PathParts {
  std::string directory;
  std::string name;
};
[[nodiscard]] TENURE_API PathParts partsOf(const std::string& path);

/// realpath(3): without links and dots. Empty with errno set if there is no such thing.
[[nodiscard]] TENURE_API std::string realPath(const std::string& path);

}  // namespace tenure
