#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <poll.h>
#include <utility>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/logger.hpp>

#include "log_line.hpp"

namespace tenure {
namespace {

constexpr std::array<std::pair<LogLevel, std::string_view>, 6> names{{{LogLevel::trace, "trace"},
                                                                      {LogLevel::debug, "debug"},
                                                                      {LogLevel::info, "info"},
                                                                      {LogLevel::warn, "warn"},
                                                                      {LogLevel::error, "error"},
                                                                      {LogLevel::off, "off"}}};

/// A pipe that nobody reads blocks every thread that writes to it. Here that would also be the renewal thread and a
/// store's thread, and the lease would be lost because of a log line.
bool takesMore(std::FILE* file) {
  pollfd waits{fileno(file), POLLOUT, 0};
  return poll(&waits, 1, 0) != 0;
}

std::atomic<std::uint64_t> allDropped{0};

}  // namespace

std::string_view toString(LogLevel level) noexcept {
  for (const auto& [value, name] : names) {
    if (value == level) return name;
  }
  return "invalid";
}

std::optional<LogLevel> logLevelFrom(std::string_view text) noexcept {
  for (const auto& [value, name] : names) {
    if (name == text) return value;
  }
  return std::nullopt;
}

Logger::Logger(LogLevel level, const Sink& sink) : level_{level} {
  if (sink) sink_ = [sink](const LogRecord& record) { sink(record.level, record.line); };
}

Logger Logger::ofRecords(LogLevel level, RecordSink sink) {
  Logger out;
  out.level_ = level;
  out.sink_ = std::move(sink);
  return out;
}

std::uint64_t linesDropped() noexcept { return allDropped.load(); }

Logger Logger::toStderr(LogLevel level, LogFormat format) {
  auto lost = std::make_shared<std::atomic<unsigned>>(0);
  return ofRecords(level, [lost = std::move(lost), format](const LogRecord& record) {
    if (!takesMore(stderr)) {
      ++*lost;
      ++allDropped;
      return;
    }
    const std::string time = wallClockTextForDisplay(wallClockMillisForDisplay());
    std::string out;
    if (const unsigned count = lost->exchange(0); count > 0) {
      const std::string line = std::to_string(count) + " lines were lost here: stderr was not read";
      const LogField field{"count", count};
      out = logLine(format, time, {LogLevel::warn, line, LogEvent::linesLost, {&field, 1}});
    }
    out += logLine(format, time, record);
    std::fwrite(out.data(), 1, out.size(), stderr);  // one call: lines of several threads do not mix
  });
}

}  // namespace tenure
