// Times as AWS writes them. All are seconds since 1970 in UTC.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/export.hpp>

namespace tenure::aws {

/// `20150830T123600Z`; its first eight characters are the day. The nearest one of the years 0 to 9999.
[[nodiscard]] std::string amzDate(std::chrono::seconds since1970);

/// `2015-08-30T12:36:00Z` and what else botocore takes for such a time: the basic form `20150830T123600Z`, numbers of
/// one digit, no seconds, a fraction (dropped), and as zone `Z`, `UTC`, `GMT`, `+00`, `+0000`, `+00:00` or another
/// offset. A time without a zone is none.
[[nodiscard]] std::optional<std::chrono::seconds> parseIsoTime(std::string_view text);

/// The Date header of HTTP: `Sun, 30 Aug 2015 12:36:00 GMT`. Its two obsolete forms are not read.
[[nodiscard]] TENURE_API std::optional<std::chrono::seconds> parseHttpDate(std::string_view text);

}  // namespace tenure::aws
