// The destination of the library's log lines.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>

namespace tenure {

enum class LogLevel { trace, debug, info, warn, error, off };

[[nodiscard]] TENURE_API std::string_view toString(LogLevel level) noexcept;
[[nodiscard]] TENURE_API std::optional<LogLevel> logLevelFrom(std::string_view text) noexcept;

/// How lines are written to stderr: sentences for people, or keys and values for programs (docs/reference/logs.md).
enum class LogFormat { text, logfmt, json };

/// The event of a line, for programs. docs/reference/logs.md says which keys each has. `message` is every other line.
enum class LogEvent {
  message,
  candidateStarted,
  elected,
  inDoubt,
  doubtEnded,
  revoked,
  leaderChanged,
  candidateStopped,
  lockAcquired,
  lockInDoubt,
  jobStarted,
  jobStopping,
  jobKilled,
  jobEnded,
  hookStarted,
  hookEnded,
  fenceRefused,
  linesLost,
};

/// As in the lines: `in_doubt`.
[[nodiscard]] TENURE_API std::string_view toString(LogEvent event) noexcept;

/// A key of lower-case letters and `_`, and its value.
struct LogField {
  std::string_view key;
  std::variant<std::string, std::int64_t, FencingToken> value;
};

/// One line, as a sink for programs gets it. Its references are valid during the call only.
struct LogRecord {
  LogLevel level;
  std::string_view line;  ///< the sentence for people, with the same contents
  LogEvent event{LogEvent::message};
  std::span<const LogField> fields{};
};

/// A level and a sink. Copyable and cheap to pass. The sink is called from any of the library's threads, several at a
/// time, and must not throw. It must not wait for a call of the library either: the call may need the very thread that
/// the sink blocks. A default-constructed Logger writes nothing.
class TENURE_API Logger {
 public:
  using Sink = std::function<void(LogLevel, std::string_view line)>;
  using RecordSink = std::function<void(const LogRecord&)>;

  Logger() = default;
  Logger(LogLevel level, const Sink& sink);

  /// A logger whose sink gets the events and their keys too.
  [[nodiscard]] static Logger ofRecords(LogLevel level, RecordSink sink);

  [[nodiscard]] bool wants(LogLevel level) const noexcept { return sink_ && level >= level_ && level != LogLevel::off; }

  void log(LogLevel level, std::string_view line) const { write({level, line}); }
  void log(LogLevel level, std::string_view line, LogEvent event, std::initializer_list<LogField> fields) const {
    write({level, line, event, {fields.begin(), fields.size()}});
  }
  void write(const LogRecord& record) const {
    if (wants(record.level)) sink_(record);
  }

  /// Lines on stderr: `2026-11-21T05:19:53.123Z info  tenure: ...`, written by a thread of the library. While stderr
  /// is blocked (a full pipe, a stopped terminal, a full disk), 256 KiB are kept and further lines are dropped. Once
  /// it works again, a line says how many. exit() waits a second at most for lines that are not written yet.
  [[nodiscard]] static Logger toStderr(LogLevel level = LogLevel::info, LogFormat format = LogFormat::text);

 private:
  LogLevel level_{LogLevel::off};
  RecordSink sink_{};
};

/// How many lines all loggers of Logger::toStderr in this process have dropped. Any thread.
[[nodiscard]] TENURE_API std::uint64_t linesDropped() noexcept;

}  // namespace tenure
