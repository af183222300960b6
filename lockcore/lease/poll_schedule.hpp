// When a waiting candidate reads the record next.
#pragma once

#include <chrono>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/runtime.hpp>
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
/// It learns the phase from its own reads, whoever the holder is and however he keeps his rhythm. A read that finds
/// news says that it did not come too early; the next one comes earlier by a step, which halves from half a period down
/// to a 96th. A read that finds nothing came too early, and the next ones tell by how much. So a handful of heartbeats
/// find the phase, and from then on about one in five has a second read.
///
/// A schedule that sees every second heartbeat sees news at each look, as does one that sees them all. So a period that
/// was learned from a slower holder is doubted now and then, by a look at the configured one.
class PollSchedule {
 public:
  PollSchedule(std::chrono::nanoseconds heartbeat, std::chrono::nanoseconds lease) noexcept;

  [[nodiscard]] std::chrono::nanoseconds untilDue(const Instant& now) const noexcept;

  /// Read after `delay`, whatever was planned.
  void postpone(const Instant& now, std::chrono::nanoseconds delay) noexcept;
  /// Read at once.
  void hurry(const Instant& now) noexcept { postpone(now, std::chrono::nanoseconds{0}); }
  /// Another holder is there, whose rhythm is not known.
  void meetHolder() noexcept;
  /// A read was answered. `news`: the record changed. `hinted`: the store's notification had asked for the read, so
  /// the news is fresh.
  void answered(const Instant& now, bool news, bool hinted) noexcept;
  /// A read failed: back off, more for troubles that do not pass by themselves.
  void failed(const Instant& now, ErrorClass errorClass, RandomSource& random);

 private:
  void next(const Instant& now, std::chrono::nanoseconds delay) noexcept;
  void seekPhase() noexcept;
  void planNext(const Instant& now, const Instant& looked, std::chrono::nanoseconds ahead) noexcept;
  void cameEarly(const Instant& now) noexcept;
  void toldOf(const Instant& now) noexcept;
  [[nodiscard]] std::chrono::nanoseconds aheadAfterSuccess() noexcept;
  [[nodiscard]] std::chrono::nanoseconds aheadAfterEarly(const Instant& looked) noexcept;
  void learnPeriod(std::chrono::nanoseconds period) noexcept;
  [[nodiscard]] std::chrono::nanoseconds finestStep() const noexcept;

  std::chrono::nanoseconds configured_;
  std::chrono::nanoseconds lease_;
  std::chrono::nanoseconds period_;    ///< estimate of the holder's heartbeat
  std::chrono::nanoseconds step_;      ///< by which the look after a success comes earlier
  std::chrono::nanoseconds ahead_{0};  ///< by which the planned look is earlier than a period after the last one
  std::chrono::nanoseconds wait_{0};   ///< after the last look that found nothing
  Instant planned_{};                  ///< the look of this heartbeat, whatever became of it
  Instant emptyFrom_{};                ///< the first look since the news that found nothing
  bool empty_{false};                  ///< there was one
  bool doubting_{false};               ///< the next look is one between two heartbeats
  Instant lastNews_{};
  bool sawNews_{false};
  int lateInARow_{0};  ///< heartbeats that were seen much later than looked for
  int seenInARow_{0};  ///< as looked for, while the period is longer than configured
  int failures_{0};
  Instant from_{};
  std::chrono::nanoseconds delay_{0};
};

}  // namespace tenure
