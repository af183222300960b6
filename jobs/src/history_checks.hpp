// What a ledger may hold: values are brought into these bounds when they are noted, so that its text stays short.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace tenure {

/// Schedules give periods from 41 years before 1970 to 41 years after 9999.
[[nodiscard]] bool isPeriod(std::chrono::sys_seconds time) noexcept;

inline constexpr unsigned mostAttemptNumber = 1'000'000;
inline constexpr std::chrono::milliseconds longestRun = std::chrono::days{36'600};

/// A time that a wall clock showed.
[[nodiscard]] std::chrono::sys_seconds nearestTime(std::chrono::sys_seconds time) noexcept;
[[nodiscard]] std::chrono::milliseconds nearestLength(std::chrono::milliseconds length) noexcept;

/// The name, cut at a whole character so that its JSON has at most JobRuns::mostHolderBytes. Empty if it is not UTF-8
/// without control characters.
[[nodiscard]] std::string shortHolder(std::string_view name);

}  // namespace tenure
