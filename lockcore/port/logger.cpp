#include <array>
#include <utility>

#include <tenure/lockcore/logger.hpp>

namespace tenure {
namespace {

constexpr std::array<std::pair<LogLevel, std::string_view>, 6> names{{{LogLevel::trace, "trace"},
                                                                      {LogLevel::debug, "debug"},
                                                                      {LogLevel::info, "info"},
                                                                      {LogLevel::warn, "warn"},
                                                                      {LogLevel::error, "error"},
                                                                      {LogLevel::off, "off"}}};

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

}  // namespace tenure
