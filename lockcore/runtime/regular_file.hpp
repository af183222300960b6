// Small files that others write: certificates, keys, passwords, tokens.
#pragma once

#include <cstddef>
#include <string>

#include <boost/system/result.hpp>

#include <tenure/lockcore/export.hpp>

namespace tenure {

/// "cannot be read: No such file or directory", "is not a regular file", "is longer than 64 KiB".
struct FileRefusal {
  std::string why{};
};

/// What is in a regular file of at most `most` bytes (whole KiB). Waits for no pipe and no device, so it may be called
/// where nobody would notice a wait. The refusal never has a part of the content.
[[nodiscard]] TENURE_API boost::system::result<std::string, FileRefusal> regularFile(const std::string& path,
                                                                                     std::size_t most);

/// For files that a library opens by their names, which would wait for a pipe. Empty: it can be opened.
[[nodiscard]] TENURE_API std::string refusalOf(const std::string& path);

}  // namespace tenure
