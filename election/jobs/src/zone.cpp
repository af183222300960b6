#include "zone.hpp"

#include <exception>

#include <date/tz.h>

#include "lockcore/port/quoted_text.hpp"

namespace tenure {

using std::chrono::local_seconds;
using std::chrono::seconds;
using std::chrono::sys_seconds;

boost::system::result<Zone, OptionFaults> Zone::named(const std::string& name) {
  if (name == "UTC") return Zone{nullptr};
  const auto refused = [&](const std::string& why) {
    return OptionFaults{{"timeZone", inQuotes(name) + " is not known: " + why +
                                         "; write a name such as Europe/Berlin or UTC, and see that the time-zone data "
                                         "of the system are installed (Debian: tzdata)"}};
  };
  // These count leap seconds, which no wall clock of a computer does.
  if (name.starts_with("right/")) return refused("zones with leap seconds are not supported");
  try {
    const date::time_zone* zone = date::locate_zone(name);
    static_cast<void>(zone->get_info(sys_seconds{}));  // reads the zone's own file, which is a later failure otherwise
    return Zone{zone};
  } catch (const std::exception& error) {
    return refused(error.what());
  }
}

ZoneStretch Zone::at(sys_seconds time) const {
  // As far as the calendar goes, so that one second more on either side is a time, too.
  constexpr std::chrono::sys_days first = std::chrono::year::min() / 1 / 1;
  constexpr std::chrono::sys_days last = std::chrono::year::max() / 12 / 31;
  if (zone_ == nullptr) return {first, last, seconds{0}};
  const date::sys_info info = zone_->get_info(time);
  return {info.begin, info.end, info.offset};
}

sys_seconds Zone::instantOf(local_seconds time) const {
  if (zone_ == nullptr) return sys_seconds{time.time_since_epoch()};
  const date::local_info info = zone_->get_info(date::local_seconds{time.time_since_epoch()});
  if (info.result == date::local_info::nonexistent) return info.first.end;
  return sys_seconds{time.time_since_epoch() - info.first.offset};
}

}  // namespace tenure
