// The five fields of a crontab line, as sets of numbers.
#pragma once

#include <cstdint>
#include <string_view>

#include <boost/system/result.hpp>

#include <tenure/lockcore/lease_options.hpp>

namespace tenure {

/// Bit n of a set stands for the number n. A day of the week is 0 (Sunday) to 6.
struct CronFields {
  std::uint64_t minutes{0};
  std::uint64_t hours{0};
  std::uint64_t days{0};
  std::uint64_t months{0};
  std::uint64_t weekdays{0};
  /// Both day fields are restricted (neither has a `*`), so that a day matches by either of them.
  bool eitherDay{false};
  /// Neither the minute nor the hour begins with a `*`: times of the day, each of which occurs once on each day.
  bool timesOfDay{false};
};

/// Schedule::cron has the syntax. The one fault is of the field "schedule".
[[nodiscard]] boost::system::result<CronFields, OptionFaults> cronFieldsFrom(std::string_view expression);

}  // namespace tenure
