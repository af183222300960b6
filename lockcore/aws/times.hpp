// Times as AWS writes them. All are seconds since 1970 in UTC.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/export.hpp>

namespace tenure::aws {

/// `20150830T123600Z`; its first eight characters are the day.
[[nodiscard]] std::string amzDate(std::chrono::seconds since1970);

/// `2015-08-30T12:36:00Z`, with an optional fraction (dropped) and `Z`, `+00:00`, `+0000` or another offset.
[[nodiscard]] std::optional<std::chrono::seconds> parseIsoTime(std::string_view text);

/// The Date header of HTTP: `Sun, 30 Aug 2015 12:36:00 GMT`. Its two obsolete forms are not read.
[[nodiscard]] TENURE_API std::optional<std::chrono::seconds> parseHttpDate(std::string_view text);

}  // namespace tenure::aws
