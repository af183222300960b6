#include <ctime>

#include <tenure/lockcore/clock.hpp>

namespace tenure {
namespace {

std::chrono::nanoseconds readOne(clockid_t id) noexcept {
  timespec at{};
  clock_gettime(id, &at);  // cannot fail: the clocks exist since Linux 2.6.39 and the pointer is valid
  return std::chrono::seconds{at.tv_sec} + std::chrono::nanoseconds{at.tv_nsec};
}

}  // namespace

Instant readClock() noexcept {
  return {readOne(CLOCK_MONOTONIC_RAW), readOne(CLOCK_MONOTONIC), readOne(CLOCK_BOOTTIME)};
}

std::int64_t wallClockMillisForDisplay() noexcept {
  return std::chrono::duration_cast<std::chrono::milliseconds>(readOne(CLOCK_REALTIME)).count();
}

std::int64_t wallClockMillisForSigning() noexcept { return wallClockMillisForDisplay(); }

std::string wallClockTextForDisplay(std::int64_t unixMillis) {
  std::int64_t millis = unixMillis % 1000;
  std::int64_t whole = unixMillis / 1000;
  if (millis < 0) millis += 1000, whole -= 1;
  const auto seconds = static_cast<std::time_t>(whole);
  std::tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return "(time out of range)";
  char text[64];
  const std::size_t length =
      std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);  // lint-allow(locale): numbers
  std::string out{text, length};
  const std::string digits = std::to_string(millis);
  return out + '.' + std::string(3 - digits.size(), '0') + digits + 'Z';
}

}  // namespace tenure
