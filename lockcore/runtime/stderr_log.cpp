#include <cstdint>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/logger.hpp>

#include "lockcore/port/log_line.hpp"
#include "output_writer.hpp"

namespace tenure {

std::uint64_t linesDropped() noexcept { return stderrWriter().dropped(); }

Logger Logger::toStderr(LogLevel level, LogFormat format) {
  return ofRecords(level, [format](const LogRecord& record) {
    stderrWriter().post(logLine(format, wallClockTextForDisplay(wallClockMillisForDisplay()), record), format);
  });
}

}  // namespace tenure
