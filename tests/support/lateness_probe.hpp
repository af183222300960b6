// How late the machine is at present, so that a test of times does not take a busy machine for a slow product.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace tenure::test {

/// On each processor that this process may use, a thread asks to be woken in a moment, again and again, and notes how
/// late it was. Pinned, because a host that takes one processor away holds up what is on that one only.
class LatenessProbe {
 public:
  LatenessProbe();
  ~LatenessProbe();
  LatenessProbe(const LatenessProbe&) = delete;
  LatenessProbe& operator=(const LatenessProbe&) = delete;

  /// The worst since it was made; one that is overdue at this moment counts.
  [[nodiscard]] std::chrono::nanoseconds worst() const;
  /// How often each has been woken at least.
  [[nodiscard]] int rounds() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Timer {
    std::atomic<Clock::duration> due{};  ///< since the clock's epoch
    std::atomic<Clock::duration> worst{};
    std::atomic<int> rounds{0};
  };

  void watch(int processor, Timer& timer) const;

  std::vector<Timer> timers_;
  std::atomic<bool> ended_{false};
  std::vector<std::thread> threads_;
};

}  // namespace tenure::test
