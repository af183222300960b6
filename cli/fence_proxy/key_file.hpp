// The file of keys for signed tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include <tenure/adapters/fence_header.hpp>

namespace tenure::cli::fence_proxy {

/// What is wrong, with file and line, and without any secret.
struct KeyFileFault {
  std::string message;
};
[[noreturn]] void throw_exception_from_error(const KeyFileFault& fault, const boost::source_location& where);

using Keys = boost::system::result<std::vector<FenceKey>, KeyFileFault>;

/// Parses lines of `ID SECRET`, the secret in base64. Empty lines and lines that begin with # are ignored. At least one
/// key.
[[nodiscard]] Keys parseKeys(const std::string& file, std::string_view text);

/// Refuses a file that users besides its owner and group may read.
[[nodiscard]] Keys readKeys(const std::string& file);

}  // namespace tenure::cli::fence_proxy
