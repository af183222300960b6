// The texts of log lines in each format, and the events with their keys.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <tenure/lockcore/logger.hpp>

namespace tenure {

/// The line with its line break. `time` as wallClockTextForDisplay writes it. Bytes that are not UTF-8 become U+FFFD in
/// logfmt and JSON.
[[nodiscard]] TENURE_API std::string logLine(LogFormat format, std::string_view time, const LogRecord& record);

/// A row of the table in docs/reference/logs.md.
struct LogEventSpec {
  LogEvent event;
  std::string_view name;
  std::string_view keys;  ///< separated by blanks; a record has some of them
  std::string_view about;
};
[[nodiscard]] std::span<const LogEventSpec> logEventSpecs() noexcept;

}  // namespace tenure
