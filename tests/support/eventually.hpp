// Waits for what other threads or processes do.
#pragma once

#include <chrono>
#include <thread>

namespace tenure::test {

/// Each area of the tests has one, named `eventually`, with the time that only a broken program takes.
class Eventually {
 public:
  explicit constexpr Eventually(std::chrono::nanoseconds usual) noexcept : usual_{usual} {}

  /// True as soon as `condition` holds; false if it did not hold in time. It is looked at once at least.
  template <class Condition>
  [[nodiscard]] bool operator()(const Condition& condition) const {
    return (*this)(condition, usual_);
  }
  template <class Condition>
  [[nodiscard]] bool operator()(const Condition& condition, std::chrono::nanoseconds bound) const {
    const auto from = std::chrono::steady_clock::now();
    while (!condition()) {
      const auto waited = std::chrono::steady_clock::now() - from;
      if (waited >= bound) return false;
      // Some tests are about the first moment after an event, which mostly comes soon. After that, others get the CPU.
      if (waited < std::chrono::milliseconds{10}) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
      }
    }
    return true;
  }

 private:
  std::chrono::nanoseconds usual_;
};

}  // namespace tenure::test
