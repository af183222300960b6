#include "startup_log.hpp"

namespace tenure::cli {
namespace {

/// One cause may contain a countdown (a new database is made in so many seconds).
std::string withoutDigits(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

}  // namespace

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
