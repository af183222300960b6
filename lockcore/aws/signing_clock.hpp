// The wall clock as the services see it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

#include "lockcore/port/saturating_time.hpp"
#include "text.hpp"

namespace tenure::aws {

/// AWS refuses signatures whose time is wrong by more than 5 minutes (some services: 15). When that happens, the
/// server's Date header gives the difference. From then on it is added to the time in signatures, and to nothing else.
/// Thread-safe.
class SigningClock {
 public:
  explicit SigningClock(std::function<std::int64_t()> wallClockMillis) : wall_{std::move(wallClockMillis)} {}

  /// The time for a signature, and the correction that it contains.
  struct Reading {
    std::chrono::seconds now;
    std::chrono::seconds offset;
  };
  [[nodiscard]] Reading read() const {
    const std::chrono::seconds offset{offset_.load()};
    return {saturating::sum(local(), offset), offset};
  }
  [[nodiscard]] std::chrono::seconds now() const { return read().now; }

  enum class Correction {
    none,     ///< the time in the signature was right: the cause is another one
    known,    ///< it was wrong; meanwhile another call's rejection has corrected the clock
    justMade  ///< it was wrong; from now on the clock follows the server's
  };
  /// Called after the rejection of a signature whose time contained the correction `used`. Calls that were under way
  /// together are refused together. So each is judged by its own time, not by what the first of them has corrected.
  Correction correctBy(std::string_view dateHeader, std::chrono::seconds used) {
    const auto server = parseHttpDate(dateHeader);
    if (!server) return Correction::none;
    const std::chrono::seconds right = saturating::difference(*server, local());
    if (near(right, used)) return Correction::none;
    if (near(right, read().offset)) return Correction::known;
    offset_ = right.count();
    return Correction::justMade;
  }

 private:
  [[nodiscard]] static bool near(std::chrono::seconds a, std::chrono::seconds b) {
    constexpr std::chrono::seconds notWorthIt{120};
    const std::chrono::seconds apart = saturating::difference(a, b);
    return -notWorthIt < apart && apart < notWorthIt;
  }

  [[nodiscard]] std::chrono::seconds local() const {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::milliseconds{wall_()});
  }

  std::function<std::int64_t()> wall_;
  std::atomic<std::int64_t> offset_{0};
};

}  // namespace tenure::aws
