// The rule at the end of a time-zone file, for all times after the changes that it lists. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include <tenure/lockcore/export.hpp>

namespace tenure {

/// A stretch of time in which local time is UTC plus one offset.
struct ZoneStretch {
  std::chrono::sys_seconds begin;
  std::chrono::sys_seconds end;  // not included
  std::chrono::seconds offset;

  [[nodiscard]] std::chrono::local_seconds local(std::chrono::sys_seconds time) const {
    return std::chrono::local_seconds{(time + offset).time_since_epoch()};
  }
  [[nodiscard]] std::chrono::sys_seconds instant(std::chrono::local_seconds time) const {
    return std::chrono::sys_seconds{time.time_since_epoch() - offset};
  }
};

/// As far as the calendar goes, so that one second more on either side is a time, too.
[[nodiscard]] constexpr ZoneStretch alwaysOffsetBy(std::chrono::seconds offset) {
  return {std::chrono::sys_days{std::chrono::year::min() / 1 / 1},
          std::chrono::sys_days{std::chrono::year::max() / 12 / 31}, offset};
}

/// A change in each year, at a local time.
struct YearlyChange {
  enum class By {
    weekday,             ///< of a month: the 2nd Sunday of March
    dayWithoutLeapDays,  ///< 1 to 365; 60 is always the 1st of March
    dayFromZero,         ///< 0 to 365; leap days count
  };
  By by{By::weekday};
  unsigned month{1};
  unsigned week{1};  ///< 5: the last
  unsigned day{0};   ///< 0 to 6 from Sunday, or a day of the year
  std::chrono::seconds time{std::chrono::hours{2}};

  [[nodiscard]] std::chrono::local_seconds in(std::chrono::year year) const;
};

class TENURE_API ZoneRule {
 public:
  /// `text`: as in POSIX's variable TZ, and with times of changes from -167 to 167 hours (RFC 9636, 3.3.1).
  [[nodiscard]] static std::optional<ZoneRule> in(std::string_view text);

  [[nodiscard]] ZoneStretch at(std::chrono::sys_seconds time) const;

 private:
  struct Summer {
    std::chrono::seconds offset;
    YearlyChange begin{};
    YearlyChange end{};
  };
  std::chrono::seconds offset_{0};
  std::optional<Summer> summer_{};
};

}  // namespace tenure
