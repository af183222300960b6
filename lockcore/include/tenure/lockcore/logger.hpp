// Where the library's log lines go.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tenure {

enum class LogLevel { trace, debug, info, warn, error, off };

[[nodiscard]] std::string_view toString(LogLevel level) noexcept;
[[nodiscard]] std::optional<LogLevel> logLevelFrom(std::string_view text) noexcept;

/// A level and a sink. Copyable and cheap to pass. The sink is called from any of the library's threads, several at a
/// time, and must not throw. It must not wait for a call of the library either: the call may need the very thread that
/// the sink blocks. A default-constructed Logger writes nothing.
class Logger {
 public:
  using Sink = std::function<void(LogLevel, std::string_view line)>;

  Logger() = default;
  Logger(LogLevel level, Sink sink) : level_{level}, sink_{std::move(sink)} {}

  [[nodiscard]] bool wants(LogLevel level) const noexcept { return sink_ && level >= level_ && level != LogLevel::off; }

  void log(LogLevel level, std::string_view line) const {
    if (wants(level)) sink_(level, line);
  }

  /// Lines on stderr: `2026-11-21T05:19:53.123Z info  tenure: ...`. While stderr takes no more (a full pipe that nobody
  /// reads), lines are dropped, because waiting would delay renewals. The next line that is written says how many were
  /// dropped.
  [[nodiscard]] static Logger toStderr(LogLevel level = LogLevel::info);

 private:
  LogLevel level_{LogLevel::off};
  Sink sink_{};
};

}  // namespace tenure
