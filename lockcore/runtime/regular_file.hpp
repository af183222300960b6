// Small files that others write: certificates, keys, passwords, tokens.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure {

/// "cannot be read: No such file or directory", "is not a regular file", "is longer than 64 KiB".
struct FileError {
  std::string why{};
  /// The system refused: the file is missing, this user may not read it, the disk fails. Otherwise the file itself is
  /// wrong, here and everywhere.
  bool bySystem{false};
};
[[noreturn]] TENURE_API void throw_exception_from_error(const FileError& error, const boost::source_location& where);

/// What is wrong with a path among options, in words; empty: nothing. An empty path is none.
[[nodiscard]] TENURE_API std::string faultOfPath(std::string_view path);

/// What is in a regular file of at most `most` bytes (whole KiB). Waits for no pipe and no device, so it may be called
/// where nobody would notice a wait. The rejection never has a part of the content. A relative path starts at
/// `directory`, an open descriptor.
[[nodiscard]] TENURE_API boost::system::result<std::string, FileError> regularFile(const std::string& path,
                                                                                   std::size_t most,
                                                                                   int directory = AT_FDCWD);

/// The first line of a file with a password, without its end. The error names the file and never what is in it.
[[nodiscard]] TENURE_API StoreResult<std::string> passwordIn(const std::string& path);

/// Differs after a write into the file and after another file got its name, also behind links. The time of change is
/// part of it, because programs that copy a file can set the other one. Two writes within one tick of the kernel's
/// clock (up to 10 ms) to one size look like one.
struct FileStamp {
  std::array<std::uint64_t, 7> parts{};  ///< all zero: there is no such file

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
[[nodiscard]] TENURE_API FileStamp stampOf(const std::string& path) noexcept;

}  // namespace tenure
