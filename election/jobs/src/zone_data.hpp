// What a file of the system's time-zone data says. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include <tenure/lockcore/export.hpp>

#include "lockcore/runtime/regular_file.hpp"
#include "zone_rule.hpp"

namespace tenure {

/// Constant.
class TENURE_API ZoneData {
 public:
  /// `file`: a whole TZif file (RFC 9636), of any version. Files that count leap seconds are refused.
  [[nodiscard]] static boost::system::result<ZoneData, FileError> in(std::string_view file);
  [[nodiscard]] static ZoneData utc() { return ZoneData{}; }

  [[nodiscard]] ZoneStretch at(std::chrono::sys_seconds time) const;

  /// The instant of a local time: the first of two, or the instant of the change that leaves it out.
  [[nodiscard]] std::chrono::sys_seconds instantOf(std::chrono::local_seconds time) const;

 private:
  ZoneData() = default;
  void change(std::chrono::sys_seconds at, std::chrono::seconds offset);

  std::vector<ZoneStretch> listed_{alwaysOffsetBy(std::chrono::seconds{0})};  ///< without a gap, each offset another
  /// Holds after the last change that is listed. That one may be without a new offset, so it may lie in a stretch.
  std::optional<ZoneRule> rule_{};
  std::chrono::sys_seconds lastChange_{listed_.front().begin};
};

}  // namespace tenure
