// What the numbers of a job may be.
#pragma once

#include <chrono>

#include <tenure/jobs/schedule.hpp>

#include "lockcore/port/option_ranges.hpp"

namespace tenure {

/// The range of each number in JobPolicy, and of the length of a period.
struct JobRanges {
  using Count = OptionRange<unsigned>;
  using Length = OptionRange<std::chrono::milliseconds>;
  static constexpr Length every{std::chrono::seconds{1}, std::chrono::days{366}};
  static constexpr Length lateBy{std::chrono::seconds{1}, std::chrono::days{366}};
  static constexpr Count mostMissed{1, 1000};
  static constexpr Count mostAttempts{1, 1000};
  static constexpr Length backoff{std::chrono::milliseconds{0}, longestBackoff};
};

}  // namespace tenure
