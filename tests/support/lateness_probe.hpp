// How late the machine is at present. So a test of times does not blame a busy machine on the product.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace tenure::test {

/// On each processor that this process may use, a thread repeatedly sleeps for a moment, and records how late it woke.
/// The threads are pinned: if a host takes one processor away, only the threads on that processor are delayed.
class LatenessProbe {
 public:
  LatenessProbe();
  ~LatenessProbe();
  LatenessProbe(const LatenessProbe&) = delete;
  LatenessProbe& operator=(const LatenessProbe&) = delete;

  /// The worst lateness since construction; a wake-up that is overdue at this moment counts.
  [[nodiscard]] std::chrono::nanoseconds worst() const;
  /// How often each thread has woken at least.
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
