#include "cron_times.hpp"

#include <algorithm>

#include "cron_calendar.hpp"

namespace tenure {
namespace {

using std::chrono::local_seconds;
using std::chrono::minutes;
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

}  // namespace tenure
