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

std::vector<std::string> StartupLog::take(bool opens) {
  const std::lock_guard lock{held_->mutex};
  if (opens) held_->isOpen = true;
  return std::exchange(held_->lines, {});
}

void StartupLog::told(const std::string& cause) {
  for (const std::string& line : take(false)) {
    if (!line.ends_with(cause)) logger_.log(LogLevel::warn, line);
  }
}

void StartupLog::open() {
  for (const std::string& line : take(true)) logger_.log(LogLevel::warn, line);
}

}  // namespace tenure::cli
