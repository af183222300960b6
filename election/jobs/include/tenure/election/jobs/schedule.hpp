// When the periods of a job begin. Wall clocks name periods, and decide nothing else: who runs a job is decided by the
// lease, which reads no wall clock.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_options.hpp>

namespace tenure {

class CronTimes;

/// Divides time into periods. Each lasts from its occurrence to the next one, and is named by the instant at which it
/// begins. Only `every` and `cron` make one. Cheap to copy; may be used by several threads at a time. Reads no clock,
/// but looks at the file of its time zone in each call.
class TENURE_API Schedule {
 public:
  /// Periods of this length, which begin at its multiples since 1970-01-01T00:00Z. So hours begin at the full hour in
  /// UTC, 24 h at midnight in UTC, and 7 days on Thursdays. Whole seconds, 1 s .. 366 d. The fault's field is "every".
  [[nodiscard]] static boost::system::result<Schedule, OptionFaults> every(std::chrono::milliseconds length);

  /// Five fields as in crontab(5): minute (0-59), hour (0-23), day of month (1-31), month (1-12 or JAN-DEC), day of the
  /// week (0-7 or SUN-SAT; 0 and 7 are Sunday). A field is `*`, a number or name, a range `a-b`, either of `*` and a
  /// range with a step (`*/10`, `8-18/2`), or a list of these with commas. Upper and lower case are the same. If
  /// neither day of month nor day of the week has a `*`, a day matches by either of the two; else it must match by
  /// both. Or one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually.
  ///
  /// `timeZone` is a name of the system's time-zone data, such as Europe/Berlin: a file below /usr/share/zoneinfo, or
  /// below the directory that the environment variable TZDIR names. UTC needs no such data. New data count from the
  /// next call on. While the file is gone or damaged, the data that were read last do.
  ///
  /// Where the clocks are put forward or back, it is as in cronie. If neither the minute nor the hour has a `*` or a
  /// step, the schedule is for a time of the day, and each of its times occurs once on each day. A local time that the
  /// change leaves out occurs at the instant of the change, and one that comes twice occurs at the first of the two.
  /// Occurrences that so fall on one instant are one. Every other schedule goes by real time: an occurrence is each
  /// instant whose local time matches, both of them where an hour comes twice and none where it is left out.
  ///
  /// The faults' fields are "schedule", with the place in the expression, and "timeZone". An expression that never
  /// matches (30 February) is refused.
  [[nodiscard]] static boost::system::result<Schedule, OptionFaults> cron(std::string_view expression,
                                                                          const std::string& timeZone = "UTC");

  /// The period of `now`: the latest occurrence that is not after it. An expression that is not refused matches within
  /// 41 years of any time (29 February on one day of the week), so there always is one. Times before 1970 or after
  /// 9999 count as the nearest time between.
  [[nodiscard]] std::chrono::sys_seconds latestAt(std::chrono::sys_seconds now) const;

  /// The first occurrence after `time`: the end of the period of `time`, and the beginning of the next.
  [[nodiscard]] std::chrono::sys_seconds after(std::chrono::sys_seconds time) const;

  /// For people: `every 3600 s`, or `0 3 * * * (Europe/Berlin)`.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  Schedule(std::chrono::seconds length, std::shared_ptr<const CronTimes> cron, std::string text);

  std::chrono::seconds length_;            // zero if it goes by cron_
  std::shared_ptr<const CronTimes> cron_;  // null if it goes by length_
  std::string text_;
};

}  // namespace tenure
