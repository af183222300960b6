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

// Beast's time-outs read std::chrono::steady_clock and nothing else can be given to them. So the C library's function
// under it is taken over, in this program only: of two definitions the program's own comes before the library's.
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
