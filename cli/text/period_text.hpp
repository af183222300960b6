// How a period is named: by the instant at which it begins, in UTC.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::cli {

/// `2026-11-21T03:00:00Z`.
[[nodiscard]] std::string periodText(std::chrono::sys_seconds period);

/// Reads exactly what periodText writes; empty: it is no such text.
[[nodiscard]] std::optional<std::chrono::sys_seconds> periodFrom(std::string_view text);

}  // namespace tenure::cli
