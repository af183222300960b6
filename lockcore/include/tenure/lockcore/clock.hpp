// The clock rule: how elapsed time is measured so that neither clock adjustment nor suspend can make two
// candidates lead at once. `clock.cpp` is the only file of the library that reads a clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <tenure/lockcore/export.hpp>

namespace tenure {

/// One moment as three clocks of this process saw it. Comparable only with other moments of the same boot of the
/// same machine; never stored, never sent anywhere.
///
/// Why three: CLOCK_MONOTONIC is slewed by time daemons (chrony's default allows 8.3 %) and stops while the
/// machine is suspended; CLOCK_MONOTONIC_RAW is not slewed but also stops; CLOCK_BOOTTIME counts suspend but
/// is slewed. Together they bound the true elapsed time from both sides.
struct Instant {
  std::chrono::nanoseconds raw{0};
  std::chrono::nanoseconds monotonic{0};
  std::chrono::nanoseconds boottime{0};

  friend bool operator==(const Instant&, const Instant&) = default;

  /// The moment `d` later on all three clocks. For schedules and tests; it says nothing about real clocks.
  friend constexpr Instant operator+(Instant at, std::chrono::nanoseconds d) noexcept {
    return {at.raw + d, at.monotonic + d, at.boottime + d};
  }
};

/// Elapsed time as a *holder* must count it: never less than what really passed.
/// max(dRAW + suspended, dBOOTTIME), where suspended = dBOOTTIME - dMONOTONIC.
[[nodiscard]] constexpr std::chrono::nanoseconds elapsedForHolder(const Instant& from, const Instant& to) noexcept {
  const auto boot = to.boottime - from.boottime;
  const auto suspended = boot - (to.monotonic - from.monotonic);
  const auto raw = (to.raw - from.raw) + suspended;
  return raw > boot ? raw : boot;
}

/// Elapsed time as a *challenger* must count it: never more than what really passed.
/// min(dRAW, dMONOTONIC).
[[nodiscard]] constexpr std::chrono::nanoseconds elapsedForChallenger(const Instant& from, const Instant& to) noexcept {
  const auto raw = to.raw - from.raw;
  const auto monotonic = to.monotonic - from.monotonic;
  return raw < monotonic ? raw : monotonic;
}

/// Reads the three clocks (about 60 ns; vDSO, no system call). Any thread, async-signal-safe.
[[nodiscard]] TENURE_API Instant readClock() noexcept;

/// Wall-clock milliseconds since 1970, for people and for clean-up times. It never decides whether a lease is valid.
[[nodiscard]] TENURE_API std::int64_t wallClockMillisForDisplay() noexcept;

/// Wall-clock milliseconds since 1970 for what other systems judge by their own wall clocks: the time in the signature
/// of a request, and when credentials expire. No decision about a lease uses it.
[[nodiscard]] TENURE_API std::int64_t wallClockMillisForSigning() noexcept;

/// The display time as text, `2026-11-21T05:19:53.123Z`. For display only.
[[nodiscard]] TENURE_API std::string wallClockTextForDisplay(std::int64_t unixMillis);

}  // namespace tenure
