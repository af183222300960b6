#include "startup_log.hpp"

namespace tenure::cli {

Logger StartupLog::logger() const {
  return Logger{LogLevel::trace, [logger = logger_, held = held_](LogLevel level, std::string_view line) {
                  if (level == LogLevel::warn) {
                    const std::lock_guard lock{held->mutex};
                    if (!held->isOpen) return held->lines.emplace_back(line), void();
                  }
                  logger.log(level, line);
                }};
}

void StartupLog::logHeld(bool opens) {
  std::vector<std::string> lines;
  {
    const std::lock_guard lock{held_->mutex};
    if (opens) held_->isOpen = true;
    lines.swap(held_->lines);
  }
  for (const std::string& line : lines) {
    if (told_.empty() || !line.ends_with(told_)) logger_.log(LogLevel::warn, line);
  }
}

void StartupLog::told(const std::string& cause) {
  if (!cause.empty()) told_ = cause;
  logHeld(false);
}

void StartupLog::open() { logHeld(true); }

}  // namespace tenure::cli
