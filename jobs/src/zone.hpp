// A time zone of the system, with the data that its file has at the moment.
#pragma once

#include <memory>
#include <string>

#include <boost/system/result.hpp>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_options.hpp>

#include "zone_data.hpp"

namespace tenure {

/// Cheap to copy; may be used by several threads at a time.
class TENURE_API Zone {
 public:
  /// Reads the file of the zone, below TZDIR or /usr/share/zoneinfo, as glibc does; UTC needs none. The one fault is of
  /// the field "timeZone".
  [[nodiscard]] static boost::system::result<Zone, OptionFaults> named(const std::string& name);

  /// What the file says now. As long as it is gone or damaged, what it said last. Lives as long as the zone.
  [[nodiscard]] const ZoneData& data() const;

 private:
  class File;
  explicit Zone(std::shared_ptr<File> file) noexcept : file_{std::move(file)} {}
  std::shared_ptr<File> file_;
};

}  // namespace tenure
