// What stands in for the system below the library while a world runs: its clocks, threads, waits and randomness.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include <tenure/lockcore/clock.hpp>

namespace tenure::test {

/// virtual_system.cpp replaces those sources of the library that speak to the system, and leads them here.
class VirtualSystem {
 public:
  virtual ~VirtualSystem() = default;

  /// Of the process that runs just now.
  [[nodiscard]] virtual Instant processClock() noexcept = 0;
  [[nodiscard]] virtual const std::string& processBoot() noexcept = 0;
  [[nodiscard]] virtual std::uint64_t entropy() noexcept = 0;
  /// On another thread of the process.
  virtual void runApart(std::function<void()> task) = 0;
  /// The thread of the process may be interrupted here for a while.
  virtual void interruption() noexcept = 0;
  [[nodiscard]] virtual std::chrono::nanoseconds endOf(std::chrono::nanoseconds patience) = 0;
  [[nodiscard]] virtual bool passOne(std::chrono::nanoseconds end) = 0;

  /// Of this thread; null: no world runs on it.
  [[nodiscard]] static VirtualSystem*& current() noexcept;
};

}  // namespace tenure::test
