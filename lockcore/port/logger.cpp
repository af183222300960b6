#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <poll.h>
#include <utility>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/logger.hpp>

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

std::string stamped(LogLevel level, std::string_view line) {
  const std::string_view name = toString(level);
  std::string out = wallClockTextForDisplay(wallClockMillisForDisplay());
  out.append(" ").append(name).append(6 - name.size(), ' ').append("tenure: ");
  return out.append(line).append("\n");
}

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

Logger Logger::toStderr(LogLevel level) {
  auto lost = std::make_shared<std::atomic<unsigned>>(0);
  return Logger{level, [lost = std::move(lost)](LogLevel lineLevel, std::string_view line) {
                  if (!takesMore(stderr)) {
                    ++*lost;
                    return;
                  }
                  std::string out;
                  if (const unsigned count = lost->exchange(0); count > 0) {
                    out = stamped(LogLevel::warn, std::to_string(count) + " lines were lost here: stderr was not read");
                  }
                  out += stamped(lineLevel, line);
                  std::fwrite(out.data(), 1, out.size(), stderr);  // one call: lines of several threads do not mix
                }};
}

}  // namespace tenure
