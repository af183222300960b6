// When the periods of a job begin, and how missed or overlapping periods are treated. Wall clocks only name periods:
// the lease, which reads no wall clock, decides who runs a job.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_options.hpp>

namespace tenure {

class CronTimes;

/// Divides time into periods. Each lasts from its occurrence to the next one, and is identified by its start
/// time. Only `every` and `cron` make one. Cheap to copy; may be used by several threads at a time. Reads no clock,
/// but looks at the file of its time zone in each call.
class TENURE_API Schedule {
 public:
  /// Periods of this length, which begin at its multiples since 1970-01-01T00:00Z. Hours begin at the full hour in
  /// UTC, 24 h at midnight in UTC, and 7 days on Thursdays. Whole seconds, 1 s .. 366 d. The fault's field is "every".
  [[nodiscard]] static boost::system::result<Schedule, OptionFaults> every(std::chrono::milliseconds length);

  /// Five fields as in crontab(5): minute (0-59), hour (0-23), day of month (1-31), month (1-12 or JAN-DEC), day of the
  /// week (0-7 or SUN-SAT; 0 and 7 are Sunday). A field is `*`, a number or name, a range `a-b`, either of `*` and a
  /// range with a step (`*/10`, `8-18/2`), or a list of these with commas. Upper and lower case are the same. If
  /// neither day of month nor day of the week begins with `*`, a day matches by either of the two; otherwise it must
  /// match by both. Or one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually.
  ///
  /// `timeZone` is a name of the system's time-zone data, such as Europe/Berlin: a file below /usr/share/zoneinfo, or
  /// below the directory that the environment variable TZDIR names. UTC needs no such data. New data count from the
  /// next call on. While the file is gone or damaged, the data that were read last are used.
  ///
  /// When clocks are put forward or back, it acts as cronie. If neither the minute nor the hour begins with `*`, the
  /// schedule is for a time of the day, and each of its times occurs once on each day. A local time that the change
  /// leaves out occurs at the instant of the change, and one that comes twice occurs at the first of the two.
  /// Occurrences that fall on one instant count once. Every other schedule goes by real time: an occurrence is each
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

/// The effect of a crash. No scheduler can promise exactly one: between the job's work and the note of its end there is
/// always a moment at which a crash leaves it unknown whether the job is done. Together with a fence that refuses the
/// work of older terms, `atLeastOnce` with work that may be repeated is as good.
enum class Guarantee {
  /// A run that was started is never started again, even if it failed, crashed, or lost leadership.
  atMostOnce,
  /// A run that did not succeed is started again: JobPolicy::mostAttempts, JobPolicy::backoff.
  atLeastOnce,
};

/// The treatment of periods in which no run began, because there was no leader or an earlier run took long.
enum class Missed {
  skip,  ///< they are left out, and a period may begin only within JobPolicy::lateBy of its occurrence
  once,  ///< the current period begins at any time in it, and makes up for all that were missed before it
  all,   ///< they are run in order, at most JobPolicy::mostMissed, and then the current one
};

/// The treatment of a run that is still running when the next period begins. No job runs twice at a time.
enum class Overlap {
  wait,  ///< the next period waits for its end, and then begins if JobPolicy::missed says so
  /// The stop token of the run fires if the next period could begin now; that begins once the run has ended. Not
  /// together with Missed::all, where each run that makes up for a missed period would be stopped at once.
  replace,
};

struct JobPolicy {
  Guarantee guarantee{Guarantee::atMostOnce};
  Missed missed{Missed::once};
  /// For Missed::skip: how long after its occurrence a period may still begin. 1 s .. 366 d.
  std::chrono::milliseconds lateBy{60'000};
  /// For Missed::all: the most missed periods that are run; if there were more, the earliest are left out. 1..1000.
  unsigned mostMissed{10};
  /// For Guarantee::atLeastOnce: how often one period is begun at most. After that it counts as failed. 1..1000.
  unsigned mostAttempts{10};
  /// For Guarantee::atLeastOnce: the pause before the second attempt. It doubles with each further one, up to 5 min.
  /// The first pause of a new term is this value. 0 .. 5 min.
  std::chrono::milliseconds backoff{1'000};

  friend bool operator==(const JobPolicy&, const JobPolicy&) = default;
};

/// The most jobs of one group. The ledgers of all its jobs are one text in the lease's record, and each begin and each
/// end of a run reads and writes all of it on the thread that renews the lease: some 70 ms for 64 jobs that are due at
/// once, and the square of that for more. For more jobs, use several groups.
inline constexpr std::size_t mostJobs = 64;

inline constexpr std::chrono::milliseconds longestBackoff = std::chrono::minutes{5};

/// Every fault of the policy, including those in options that its guarantee does not use.
[[nodiscard]] TENURE_API OptionFaults faultsOf(const JobPolicy& policy);

/// The pause before this attempt; the first one (1) has none.
[[nodiscard]] TENURE_API std::chrono::milliseconds pauseBefore(const JobPolicy& policy, unsigned attempt);

}  // namespace tenure
