// Small texts of AWS: words of a command, percent encoding, times.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenure/lockcore/export.hpp>

#include "lockcore/port/ascii_text.hpp"

namespace tenure::aws {

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

/// `20150830T123600Z`; its first eight characters are the day. The nearest one of the years 0 to 9999.
[[nodiscard]] std::string amzDate(std::chrono::seconds since1970);

/// `2015-08-30T12:36:00Z` and what else botocore takes for such a time: the basic form `20150830T123600Z`, numbers of
/// one digit, no seconds, a fraction (dropped), and as zone `Z`, `UTC`, `GMT`, `+00`, `+0000`, `+00:00` or another
/// offset. A time without a zone is none.
[[nodiscard]] std::optional<std::chrono::seconds> parseIsoTime(std::string_view text);

/// The Date header of HTTP: `Sun, 30 Aug 2015 12:36:00 GMT`. Its two obsolete forms are not read.
[[nodiscard]] TENURE_API std::optional<std::chrono::seconds> parseHttpDate(std::string_view text);

}  // namespace tenure::aws
