// The local time of a time zone, from the system's time-zone data.
#pragma once

#include <chrono>
#include <string>

#include <boost/system/result.hpp>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_options.hpp>

namespace date {
class time_zone;
}

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

class TENURE_API Zone {
 public:
  /// Reads the data of the zone; UTC needs none. The one fault is of the field "timeZone".
  [[nodiscard]] static boost::system::result<Zone, OptionFaults> named(const std::string& name);

  [[nodiscard]] ZoneStretch at(std::chrono::sys_seconds time) const;

  /// The instant of a local time: the first of two, or the instant of the change that leaves it out.
  [[nodiscard]] std::chrono::sys_seconds instantOf(std::chrono::local_seconds time) const;

 private:
  explicit Zone(const date::time_zone* zone) noexcept : zone_{zone} {}
  const date::time_zone* zone_;  // null: UTC. It lives as long as the process.
};

}  // namespace tenure
