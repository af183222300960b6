// Times as the API of Kubernetes writes them: RFC 3339 in UTC with six digits after the second.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::kubernetes_store {

/// Microseconds since 1970, from 1970 to 9999. The server has no text for others.
inline constexpr std::int64_t earliestMicros = 0;
inline constexpr std::int64_t latestMicros = 253'402'300'799'999'999;

/// `2026-11-22T10:04:05.123456Z`. What is out of range becomes the nearest time that is not.
[[nodiscard]] std::string microTime(std::int64_t micros);

/// With any number of digits after the second (more than six are cut), and with `Z` or an offset. Empty: it is no time,
/// or one out of range.
[[nodiscard]] std::optional<std::int64_t> microsFrom(std::string_view text);

}  // namespace tenure::kubernetes_store
