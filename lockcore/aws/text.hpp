// Small texts: trimming, splitting, percent encoding.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lockcore/port/ascii_text.hpp"

namespace tenure::aws {

/// Without white space (and carriage returns) at its ends.
[[nodiscard]] std::string_view trim(std::string_view text) noexcept;
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

/// As Python's shlex.split gives them: quotation marks and backslashes count, nothing is expanded. Empty: a quotation
/// has no end.
[[nodiscard]] std::vector<std::string> shellWords(std::string_view text);

/// RFC 3986: everything but unreserved characters and those of `kept` becomes %XX.
[[nodiscard]] std::string percentEncode(std::string_view text, std::string_view kept);
/// Anything that is not %XX stays as it is.
[[nodiscard]] std::string percentDecode(std::string_view text);

/// Text of other programs for an error message: one line, at most `most` bytes, without control characters, and without
/// any run of characters that is long enough to be a secret key or a token.
[[nodiscard]] std::string forPeople(std::string_view text, std::size_t most = 200);

/// The same for text that is known to be no secret: only control characters are removed.
[[nodiscard]] std::string oneLine(std::string_view text, std::size_t most = 200);

/// 1 to 63 of a-z 0-9 -, as a part of a host name; other texts must not get into a URL.
[[nodiscard]] bool isHostLabel(std::string_view text) noexcept;

}  // namespace tenure::aws
