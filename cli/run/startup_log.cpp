#include "startup_log.hpp"

#include <deque>

#include <tenure/lockcore/clock.hpp>

#include "lockcore/port/log_line.hpp"
#include "lockcore/runtime/output_writer.hpp"

namespace tenure::cli {
namespace {

/// One cause may contain a countdown (a new database is made in so many seconds).
std::string withoutDigits(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

}  // namespace

struct QuietLog::Waiting {
  static constexpr std::size_t most = 1'000;  ///< of a start that waits for days; the latest ones
  explicit Waiting(LogFormat given) noexcept : format{given} {}

  void take(const LogRecord& record) {
    std::string line = logLine(format, wallClockTextForDisplay(wallClockMillisForDisplay()), record);
    const std::lock_guard lock{mutex};
    if (isOpen || record.level >= LogLevel::warn) return stderrWriter().post(std::move(line), format);
    lines.push_back(std::move(line));
    if (lines.size() > most) lines.pop_front();
  }

  const LogFormat format;
  std::mutex mutex;
  bool isOpen{false};             ///< guarded by mutex
  std::deque<std::string> lines;  ///< guarded by mutex
};

QuietLog::QuietLog(LogLevel level, LogFormat format, bool quiet)
    : waiting_{quiet ? std::make_shared<Waiting>(format) : nullptr},
      logger_{quiet ? Logger::ofRecords(level, [waiting = waiting_](const LogRecord& record) { waiting->take(record); })
                    : Logger::toStderr(level, format)} {}

void QuietLog::open() {
  if (!waiting_) return;
  const std::lock_guard lock{waiting_->mutex};
  for (std::string& line : waiting_->lines) stderrWriter().post(std::move(line), waiting_->format);
  waiting_->lines.clear();
  waiting_->isOpen = true;
}

Logger StartupLog::logger() const {
  return Logger::ofRecords(LogLevel::trace, [logger = logger_, held = held_](const LogRecord& record) {
    if (record.level == LogLevel::warn) {
      const std::lock_guard lock{held->mutex};
      if (!held->isOpen) return held->lines.emplace_back(record.line), void();
    }
    logger.write(record);
  });
}

void StartupLog::logHeld(bool opens) {
  std::vector<std::string> lines;
  {
    const std::lock_guard lock{held_->mutex};
    if (opens) held_->isOpen = true;
    lines.swap(held_->lines);
  }
  for (const std::string& line : lines) {
    if (told_.empty() || !withoutDigits(line).ends_with(withoutDigits(told_))) logger_.log(LogLevel::warn, line);
  }
}

void StartupLog::told(const std::string& cause) {
  if (!cause.empty()) told_ = cause;
  logHeld(false);
}

void StartupLog::open() { logHeld(true); }

}  // namespace tenure::cli
