// The instants at which a crontab line in a time zone occurs.
#pragma once

#include <chrono>
#include <utility>

#include "cron_fields.hpp"
#include "zone.hpp"

namespace tenure {

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

}  // namespace tenure
