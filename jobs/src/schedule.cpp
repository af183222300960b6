#include <utility>

#include <tenure/jobs/schedule.hpp>

#include "cron_fields.hpp"
#include "cron_times.hpp"
#include "job_ranges.hpp"
#include "wall_clock.hpp"
#include "zone.hpp"

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::sys_seconds;

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
