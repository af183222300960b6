#include <algorithm>
#include <bit>
#include <chrono>
#include <optional>
#include <utility>

#include <tenure/jobs/schedule.hpp>

#include "cron_fields.hpp"
#include "job_ranges.hpp"
#include "wall_clock.hpp"
#include "zone.hpp"

namespace tenure {

/// The instants at which a crontab line in a time zone occurs.
/// Schedule::cron says what happens where the clocks are put forward or back. Times are between 1970 and 9999.
class CronTimes {
 public:
  CronTimes(const CronFields& fields, Zone zone) : fields_{fields}, zone_{std::move(zone)} {}

  [[nodiscard]] std::chrono::sys_seconds latestAt(std::chrono::sys_seconds now) const;
  [[nodiscard]] std::chrono::sys_seconds after(std::chrono::sys_seconds time) const;

 private:
  [[nodiscard]] std::chrono::sys_seconds latestTimeOfDay(const ZoneData& zone, std::chrono::sys_seconds now) const;
  [[nodiscard]] std::chrono::sys_seconds firstTimeOfDay(const ZoneData& zone, std::chrono::sys_seconds after) const;
  [[nodiscard]] std::chrono::sys_seconds latestInRealTime(const ZoneData& zone, std::chrono::sys_seconds now) const;
  [[nodiscard]] std::chrono::sys_seconds firstInRealTime(const ZoneData& zone, std::chrono::sys_seconds after) const;

  CronFields fields_;
  Zone zone_;
};

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

/// The latest whole minute that matches and is not after `limit`. Empty if the 41 years before it have none.
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

/// The first whole minute that matches and is not before `limit`. Empty if the 41 years after it have none.
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

using std::chrono::seconds;
using std::chrono::sys_seconds;

// cronFieldsFrom refuses what never matches, so the calendar always has an answer.
local_seconds latestLocal(const CronFields& fields, local_seconds limit) { return latestMatch(fields, limit).value(); }
local_seconds firstLocal(const CronFields& fields, local_seconds limit) { return firstMatch(fields, limit).value(); }

}  // namespace

sys_seconds CronTimes::latestAt(sys_seconds now) const {
  const ZoneData& zone = zone_.data();
  return fields_.timesOfDay ? latestTimeOfDay(zone, now) : latestInRealTime(zone, now);
}

sys_seconds CronTimes::after(sys_seconds time) const {
  const ZoneData& zone = zone_.data();
  return fields_.timesOfDay ? firstTimeOfDay(zone, time) : firstInRealTime(zone, time);
}

// A later local time never has an earlier instant: a time that comes twice has its first instant, and all times that a
// change leaves out have that of the change. So both searches may go in the order of local times.

sys_seconds CronTimes::latestTimeOfDay(const ZoneData& zone, sys_seconds now) const {
  const ZoneStretch current = zone.at(now);
  // After the clocks were put back, times that are later on the clock have already been.
  const seconds before = zone.at(current.begin - seconds{1}).offset;
  local_seconds limit{now.time_since_epoch() + std::max(current.offset, before)};
  while (true) {
    const local_seconds local = latestLocal(fields_, limit);
    const sys_seconds instant = zone.instantOf(local);
    if (instant <= now) return instant;
    limit = local - minutes{1};
  }
}

sys_seconds CronTimes::firstTimeOfDay(const ZoneData& zone, sys_seconds after) const {
  local_seconds limit = zone.at(after).local(after) + seconds{1};
  while (true) {
    const local_seconds local = firstLocal(fields_, limit);
    const sys_seconds instant = zone.instantOf(local);
    if (instant > after) return instant;
    limit = local + minutes{1};
  }
}

sys_seconds CronTimes::latestInRealTime(const ZoneData& zone, sys_seconds now) const {
  sys_seconds limit = now;
  while (true) {
    const ZoneStretch stretch = zone.at(limit);
    const sys_seconds instant = stretch.instant(latestLocal(fields_, stretch.local(limit)));
    if (instant >= stretch.begin) return instant;
    limit = stretch.begin - seconds{1};
  }
}

sys_seconds CronTimes::firstInRealTime(const ZoneData& zone, sys_seconds after) const {
  sys_seconds limit = after + seconds{1};
  while (true) {
    const ZoneStretch stretch = zone.at(limit);
    const sys_seconds instant = stretch.instant(firstLocal(fields_, stretch.local(limit)));
    if (instant < stretch.end) return instant;
    limit = stretch.end;
  }
}

using std::chrono::milliseconds;

Schedule::Schedule(seconds length, std::shared_ptr<const CronTimes> cron, std::string text)
    : length_{length}, cron_{std::move(cron)}, text_{std::move(text)} {}

boost::system::result<Schedule, OptionFaults> Schedule::every(milliseconds length) {
  if (!JobRanges::every.holds(length))
    return OptionFaults{{"every", std::to_string(length.count()) + "ms is out of range; allowed is 1s to 366d", true}};
  const seconds whole = std::chrono::floor<seconds>(length);
  if (whole != length)
    return OptionFaults{{"every", std::to_string(length.count()) + "ms is not a whole number of seconds", true}};
  return Schedule{whole, nullptr, "every " + std::to_string(whole.count()) + " s"};
}

boost::system::result<Schedule, OptionFaults> Schedule::cron(std::string_view expression, const std::string& timeZone) {
  OptionFaults faults;
  const auto fields = cronFieldsFrom(expression);
  if (!fields) faults = fields.error();
  const auto zone = Zone::named(timeZone);
  if (!zone) {
    const OptionFaults ofZone = zone.error();  // each call returns a copy: two calls give no range
    faults.insert(faults.end(), ofZone.begin(), ofZone.end());
  }
  if (!faults.empty()) return faults;
  return Schedule{seconds{0}, std::make_shared<const CronTimes>(*fields, *zone),
                  std::string{expression} + " (" + timeZone + ')'};
}

sys_seconds Schedule::latestAt(sys_seconds now) const {
  const sys_seconds time = withinRange(now);
  if (cron_) return cron_->latestAt(time);
  return time - time.time_since_epoch() % length_;
}

sys_seconds Schedule::after(sys_seconds time) const {
  const sys_seconds from = withinRange(time);
  if (cron_) return cron_->after(from);
  return from - from.time_since_epoch() % length_ + length_;
}

}  // namespace tenure
