// When a waiting candidate reads the record next.
#pragma once

#include <chrono>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/random_source.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure {

/// Failures beyond this many are not counted: the wait has reached its cap.
inline constexpr int maxFailures = 8;

/// How long to wait after this many failures in a row (0: the first): twice as long after each, and longer for troubles
/// that do not pass by themselves. With jitter, so that candidates do not come back all at once.
[[nodiscard]] std::chrono::nanoseconds backoff(int failures, ErrorClass errorClass, std::chrono::nanoseconds heartbeat,
                                               std::chrono::nanoseconds lease, RandomSource& random);

/// Polls in phase with the holder's heartbeats: a little after the next one is due, so that about one read per
/// heartbeat sees each renewal while it is fresh. The wait for a takeover counts from seeing the last renewal, so the
/// freshness is the failover time; a fixed grid would add half a period on average.
///
/// It learns the phase from its own reads. A read that finds nothing new came early: it looks again after a short step.
/// A first read that finds news at once may have come late by any amount: the next one comes a step earlier.
class PollSchedule {
 public:
  PollSchedule(std::chrono::nanoseconds heartbeat, std::chrono::nanoseconds lease) noexcept;

  [[nodiscard]] std::chrono::nanoseconds untilDue(const Instant& now) const noexcept;

  /// Read after `delay`, whatever was planned.
  void postpone(const Instant& now, std::chrono::nanoseconds delay) noexcept { next(now, delay); }
  /// Read at once.
  void hurry(const Instant& now) noexcept;
  /// A read was answered. `news`: the record changed. `hinted`: the store's notification had asked for the read, so
  /// the news is fresh.
  void answered(const Instant& now, bool news, bool hinted) noexcept;
  /// A read failed: back off, more for troubles that do not pass by themselves.
  void failed(const Instant& now, ErrorClass errorClass, RandomSource& random);

 private:
  void next(const Instant& now, std::chrono::nanoseconds delay) noexcept;
  void learn(const Instant& now, bool hinted) noexcept;

  std::chrono::nanoseconds configured_;
  std::chrono::nanoseconds lease_;
  std::chrono::nanoseconds period_;  ///< estimate of the holder's heartbeat
  std::chrono::nanoseconds step_{0};
  Instant lastNews_{};
  bool sawNews_{false};
  int unchanged_{0};  ///< reads without news since the last news; counted up to 5
  int failures_{0};
  Instant from_{};
  std::chrono::nanoseconds delay_{0};
};

}  // namespace tenure
