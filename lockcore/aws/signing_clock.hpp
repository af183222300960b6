// The wall clock as the services see it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "times.hpp"

namespace tenure::aws {

/// AWS refuses signatures whose time is more than 5 minutes (some services: 15) off. When that happens the server's
/// Date header gives the difference, which is added from then on: to the time in signatures and to nothing else.
/// Thread-safe.
class SigningClock {
 public:
  explicit SigningClock(std::function<std::int64_t()> wallClockMillis) : wall_{std::move(wallClockMillis)} {}

  /// The time for a signature, and the correction that is in it.
  struct Reading {
    std::chrono::seconds now;
    std::chrono::seconds offset;
  };
  [[nodiscard]] Reading read() const {
    const std::chrono::seconds offset{offset_.load()};
    return {local() + offset, offset};
  }
  [[nodiscard]] std::chrono::seconds now() const { return read().now; }

  enum class Correction {
    none,     ///< the time in the signature was right: something else is wrong
    known,    ///< it was wrong; a call that was refused earlier has put the clock right meanwhile
    justMade  ///< it was wrong, and the clock goes as the server's does from now on
  };
  /// After the refusal of a signature whose time had `used` in it. Calls that were under way together are refused
  /// together, so each is judged by its own time and not by what the first of them has corrected.
  Correction correctBy(std::string_view dateHeader, std::chrono::seconds used) {
    const auto server = parseHttpDate(dateHeader);
    if (!server) return Correction::none;
    const std::chrono::seconds right = *server - local();
    if (near(right, used)) return Correction::none;
    if (near(right, read().offset)) return Correction::known;
    offset_ = right.count();
    return Correction::justMade;
  }

 private:
  [[nodiscard]] static bool near(std::chrono::seconds a, std::chrono::seconds b) {
    constexpr std::chrono::seconds notWorthIt{120};
    return a - b < notWorthIt && b - a < notWorthIt;
  }

  [[nodiscard]] std::chrono::seconds local() const {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::milliseconds{wall_()});
  }

  std::function<std::int64_t()> wall_;
  std::atomic<std::int64_t> offset_{0};
};

}  // namespace tenure::aws
