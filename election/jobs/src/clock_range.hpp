// The times that a wall clock may show here. Others would not fit into the calendar or into milliseconds.
#pragma once

#include <algorithm>
#include <chrono>

namespace tenure {

inline constexpr std::chrono::sys_seconds earliestShown{};  // 1970-01-01T00:00Z
inline constexpr std::chrono::sys_seconds latestShown =
    std::chrono::sys_days{std::chrono::year{9999} / std::chrono::December / 31} + std::chrono::seconds{86'399};

[[nodiscard]] inline std::chrono::sys_seconds withinRange(std::chrono::sys_seconds time) {
  return std::clamp(time, earliestShown, latestShown);
}

}  // namespace tenure
