// What replaces the system below the library while a world runs: clocks, threads, waits and randomness.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include <tenure/lockcore/clock.hpp>

namespace tenure::test {

/// virtual_system.cpp replaces the sources of the library that use the system, and forwards their calls to this class.
class VirtualSystem {
 public:
  virtual ~VirtualSystem() = default;

  /// The clock of the process that runs now.
  [[nodiscard]] virtual Instant processClock() noexcept = 0;
  [[nodiscard]] virtual const std::string& processBoot() noexcept = 0;
  [[nodiscard]] virtual std::uint64_t entropy() noexcept = 0;
  /// Runs the task on another thread of the process.
  virtual void runApart(std::function<void()> task) = 0;
  /// Here the thread of the process may be interrupted for a while.
  virtual void interruption() noexcept = 0;
  [[nodiscard]] virtual std::chrono::nanoseconds endOf(std::chrono::nanoseconds patience) = 0;
  [[nodiscard]] virtual bool passOne(std::chrono::nanoseconds end) = 0;

  /// The system of the calling thread; null: no world runs on it.
  [[nodiscard]] static VirtualSystem*& current() noexcept;
};

}  // namespace tenure::test
