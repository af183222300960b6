// Waits for what other threads or processes do.
#pragma once

#include <chrono>
#include <thread>

namespace tenure::test {

/// Each area of the tests has one, named `eventually`, with the time that only a broken program takes.
class Eventually {
 public:
  /// It sleeps for `between` after each look. Zero, for tests of the moment right after an event: it looks all the
  /// time.
  explicit constexpr Eventually(std::chrono::nanoseconds usual,
                                std::chrono::nanoseconds between = std::chrono::milliseconds{1}) noexcept
      : usual_{usual}, between_{between} {}

  /// True as soon as `condition` holds; false if it did not hold in time. It is looked at once at least.
  template <class Condition>
  [[nodiscard]] bool operator()(const Condition& condition) const {
    return (*this)(condition, usual_);
  }
  template <class Condition>
  [[nodiscard]] bool operator()(const Condition& condition, std::chrono::nanoseconds bound) const {
    const auto end = std::chrono::steady_clock::now() + bound;
    for (;;) {
      const bool isLast = std::chrono::steady_clock::now() >= end;  // so that the last look comes after the bound
      if (condition()) return true;
      if (isLast) return false;
      if (between_.count() == 0) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(between_);
      }
    }
  }

 private:
  std::chrono::nanoseconds usual_, between_;
};

}  // namespace tenure::test
