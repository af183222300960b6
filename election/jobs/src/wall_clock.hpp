// The wall clock that names periods.
#pragma once

#include <chrono>
#include <string>

#include <tenure/election/jobs/job_ledger.hpp>
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

}  // namespace tenure
