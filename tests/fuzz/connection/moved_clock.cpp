#include "connection/moved_clock.hpp"

#include <atomic>
#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>

namespace tenure::fuzz {
namespace {

std::atomic<long> movedMillis{0};

}  // namespace

void moveClock(std::chrono::milliseconds by) { movedMillis += by.count(); }
void resetClock() { movedMillis = 0; }

}  // namespace tenure::fuzz

// Beast's time-outs read std::chrono::steady_clock, and it accepts no other clock. So this program, and only this one,
// replaces the C library's function below it: of two definitions the linker prefers the program's own.
extern "C" int clock_gettime(clockid_t id, timespec* out) noexcept {
  const long result = syscall(SYS_clock_gettime, id, out);
  const bool onlyForward = id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_RAW || id == CLOCK_BOOTTIME;
  if (result == 0 && onlyForward) {
    const long moved = tenure::fuzz::movedMillis.load(std::memory_order_relaxed);
    out->tv_sec += moved / 1000;
    out->tv_nsec += moved % 1000 * 1'000'000;
    if (out->tv_nsec >= 1'000'000'000) {
      out->tv_nsec -= 1'000'000'000;
      ++out->tv_sec;
    }
  }
  return static_cast<int>(result);
}
