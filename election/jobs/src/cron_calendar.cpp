#include "cron_calendar.hpp"

#include <bit>

namespace tenure {
namespace {

using std::chrono::days;
using std::chrono::local_days;
using std::chrono::local_seconds;
using std::chrono::minutes;

/// 29 February falls on a given day of the week every 28 years, or 40 years apart around a year such as 2100.
constexpr days horizon{41 * 366};
constexpr unsigned minutesOfHour = 60;
constexpr unsigned minutesOfDay = 24 * minutesOfHour;

bool has(std::uint64_t set, unsigned number) { return (set >> number & 1U) != 0; }

bool matchesMonth(const CronFields& fields, std::chrono::year_month_day date) {
  return has(fields.months, static_cast<unsigned>(date.month()));
}

bool matchesDay(const CronFields& fields, local_days day, std::chrono::year_month_day date) {
  const bool byDate = has(fields.days, static_cast<unsigned>(date.day()));
  const bool byWeekday = has(fields.weekdays, std::chrono::weekday{day}.c_encoding());
  return fields.eitherDay ? byDate || byWeekday : byDate && byWeekday;
}

std::optional<local_days> latestDay(const CronFields& fields, local_days limit) {
  for (local_days day = limit; day > limit - horizon;) {
    const std::chrono::year_month_day date{day};
    if (!matchesMonth(fields, date)) {
      day = local_days{date.year() / date.month() / 1} - days{1};
    } else if (matchesDay(fields, day, date)) {
      return day;
    } else {
      day -= days{1};
    }
  }
  return std::nullopt;
}

std::optional<local_days> firstDay(const CronFields& fields, local_days limit) {
  for (local_days day = limit; day < limit + horizon;) {
    const std::chrono::year_month_day date{day};
    if (!matchesMonth(fields, date)) {
      day = local_days{date.year() / date.month() / std::chrono::last} + days{1};
    } else if (matchesDay(fields, day, date)) {
      return day;
    } else {
      day += days{1};
    }
  }
  return std::nullopt;
}

/// The greatest number of the set that is at most `limit`, which is below 63.
std::optional<unsigned> atMost(std::uint64_t set, unsigned limit) {
  const std::uint64_t below = set & ((std::uint64_t{2} << limit) - 1);
  if (below == 0) return std::nullopt;
  return static_cast<unsigned>(std::bit_width(below)) - 1;
}

/// The least number of the set that is at least `limit`, which is below 64.
std::optional<unsigned> atLeast(std::uint64_t set, unsigned limit) {
  const std::uint64_t above = set >> limit;
  if (above == 0) return std::nullopt;
  return limit + static_cast<unsigned>(std::countr_zero(above));
}

/// The latest time of a day, in minutes, that matches and is not after `limit`.
std::optional<unsigned> latestTime(const CronFields& fields, unsigned limit) {
  const unsigned hour = limit / minutesOfHour;
  if (has(fields.hours, hour)) {
    if (const auto minute = atMost(fields.minutes, limit % minutesOfHour)) return hour * minutesOfHour + *minute;
  }
  const auto earlier = hour == 0 ? std::nullopt : atMost(fields.hours, hour - 1);
  if (!earlier) return std::nullopt;
  return *earlier * minutesOfHour + *atMost(fields.minutes, minutesOfHour - 1);
}

std::optional<unsigned> firstTime(const CronFields& fields, unsigned limit) {
  const unsigned hour = limit / minutesOfHour;
  if (has(fields.hours, hour)) {
    if (const auto minute = atLeast(fields.minutes, limit % minutesOfHour)) return hour * minutesOfHour + *minute;
  }
  const auto later = atLeast(fields.hours, hour + 1);
  if (!later) return std::nullopt;
  return *later * minutesOfHour + *atLeast(fields.minutes, 0);
}

}  // namespace

std::optional<local_seconds> latestMatch(const CronFields& fields, local_seconds limit) {
  const auto today = std::chrono::floor<days>(limit);
  const auto minute = std::chrono::floor<minutes>(limit) - today;
  auto day = latestDay(fields, today);
  auto time = latestTime(fields, static_cast<unsigned>(minute.count()));
  if (!day) return std::nullopt;
  if (*day == today && !time) day = latestDay(fields, today - days{1});
  if (!day) return std::nullopt;
  if (*day != today) time = latestTime(fields, minutesOfDay - 1);
  return *day + minutes{*time};
}

std::optional<local_seconds> firstMatch(const CronFields& fields, local_seconds limit) {
  const auto today = std::chrono::floor<days>(limit);
  const auto minute = std::chrono::ceil<minutes>(limit) - today;
  auto day = firstDay(fields, today);
  const bool over = minute >= days{1};  // the day's last minute has begun
  auto time = over ? std::nullopt : firstTime(fields, static_cast<unsigned>(minute.count()));
  if (!day) return std::nullopt;
  if (*day == today && !time) day = firstDay(fields, today + days{1});
  if (!day) return std::nullopt;
  if (*day != today) time = firstTime(fields, 0);
  return *day + minutes{*time};
}

}  // namespace tenure
