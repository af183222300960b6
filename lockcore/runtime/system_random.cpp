#include "system_random.hpp"

#include <cerrno>
#include <sys/random.h>

#include "system_error.hpp"

namespace tenure {

std::uint64_t SystemRandom::next() {
  std::uint64_t value = 0;
  // Once the pool is ready, requests of up to 256 bytes are never cut short; before that, only a signal can interrupt
  // them.
  while (getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
    if (errno != EINTR) throw errnoException(errno, "getrandom");
  }
  return mixedWithTime(value, readClock());
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). It is a
/// bijection in which a change by a nanosecond changes about half of the bits.
std::uint64_t mixedWithTime(std::uint64_t bits, const Instant& now) noexcept {
  auto time = static_cast<std::uint64_t>(now.raw.count()) + static_cast<std::uint64_t>(now.boottime.count());
  time = (time ^ (time >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  time = (time ^ (time >> 27U)) * 0x94D049BB133111EBULL;
  return bits ^ time ^ (time >> 31U);
}

}  // namespace tenure
