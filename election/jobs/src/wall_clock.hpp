// The wall clock that names periods.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

#include <tenure/jobs/job_ledger.hpp>
#include <tenure/lockcore/clock.hpp>

namespace tenure {

/// The system's, if the user gave none.
[[nodiscard]] inline WallClock orSystemClock(WallClock given) {
  if (given) return given;
  return [] {
    const std::chrono::milliseconds now{wallClockMillisForDisplay()};
    return std::chrono::sys_seconds{std::chrono::floor<std::chrono::seconds>(now)};
  };
}

/// For log lines.
[[nodiscard]] inline std::string textOf(std::chrono::sys_seconds time) {
  return wallClockTextForDisplay(std::chrono::milliseconds{time.time_since_epoch()}.count());
}

inline constexpr std::chrono::sys_seconds earliestShown{};  // 1970-01-01T00:00Z
inline constexpr std::chrono::sys_seconds latestShown =
    std::chrono::sys_days{std::chrono::year{9999} / std::chrono::December / 31} + std::chrono::seconds{86'399};

[[nodiscard]] inline std::chrono::sys_seconds withinRange(std::chrono::sys_seconds time) {
  return std::clamp(time, earliestShown, latestShown);
}

}  // namespace tenure
