#pragma once

#include <chrono>
#include <string>

#include <fmt/format.h>

namespace tenure::cli::doctor {

/// `0.042ms`, `3.1ms`, `250ms`: three digits are enough for people.
[[nodiscard]] inline std::string latencyText(std::chrono::nanoseconds time) {
  const double millis = std::chrono::duration<double, std::milli>(time).count();
  return fmt::format("{:.{}f}ms", millis, millis < 1 ? 3 : millis < 100 ? 1 : 0);
}

}  // namespace tenure::cli::doctor
