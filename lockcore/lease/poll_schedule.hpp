// When a waiting candidate reads the record next.
#pragma once

#include <chrono>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/runtime.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure {

/// More failures than this are not counted: the wait has reached its upper limit.
inline constexpr int maxFailures = 8;

/// How long to wait after this many failures in a row (0: the first): twice as long after each, and longer for errors
/// that do not pass by themselves. With jitter, so that candidates do not all come back at once.
[[nodiscard]] std::chrono::nanoseconds backoff(int failures, ErrorClass errorClass, std::chrono::nanoseconds heartbeat,
                                               std::chrono::nanoseconds lease, RandomSource& random);

/// Polls in phase with the holder's heartbeats: a little after the next one is due. So about one read in each heartbeat
/// sees each renewal while it is fresh. The wait for a takeover counts from seeing the last renewal, so a stale reading
/// delays the failover; a fixed grid would add half a period on average.
///
/// It learns the phase from its own reads, for any holder and any rhythm. A read that finds news shows that it did not
/// come too early; the next one comes earlier by a step, and the step halves from half a period down to a 96th. A read
/// that finds nothing came too early, and the reads after it show by how much. So the phase is known after a handful of
/// heartbeats. From then on about one heartbeat in five needs a second read.
///
/// A schedule that sees only every second heartbeat finds news at each read, like a schedule that sees all of them. So
/// if the period was learned from a slower holder, an extra read now and then checks the configured period.
class PollSchedule {
 public:
  PollSchedule(std::chrono::nanoseconds heartbeat, std::chrono::nanoseconds lease) noexcept;

  /// Until the next read; not positive: now.
  [[nodiscard]] std::chrono::nanoseconds untilDue(const Instant& now) const noexcept;

  /// Until a read that a hint asks for; not positive: now. Anybody may be able to send hints (NOTIFY needs no right),
  /// so those that bring no news are answered at once a few times, and then by a bounded number of reads in each
  /// period.
  [[nodiscard]] std::chrono::nanoseconds untilHinted(const Instant& now) const noexcept;
  /// A read is sent that is not due, because of a hint.
  void tookHint(const Instant& now) noexcept;
  /// Read after `delay`, whatever was planned.
  void postpone(const Instant& now, std::chrono::nanoseconds delay) noexcept;
  /// Read at once.
  void hurry(const Instant& now) noexcept { postpone(now, std::chrono::nanoseconds{0}); }
  /// There is another holder, and its rhythm is not known.
  void meetHolder() noexcept;
  /// A read was answered. `news`: the record changed. `hinted`: a notification of the store had asked for the read, so
  /// the news is fresh.
  void answered(const Instant& now, bool news, bool hinted) noexcept;
  /// A read failed: wait before the next one, longer for errors that do not pass by themselves.
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
  std::chrono::nanoseconds step_;      ///< how much earlier the read after a success comes
  std::chrono::nanoseconds ahead_{0};  ///< how much earlier the planned read is than one period after the last one
  std::chrono::nanoseconds wait_{0};   ///< the wait after the last read that found nothing
  Instant planned_{};                  ///< the planned read for this heartbeat, whatever became of it
  bool foundNothing_{false};           ///< a read since the last news came too early
  Instant nothingSince_{};             ///< the first such read
  bool extraRead_{false};              ///< the next read is an extra one between two heartbeats
  Instant lastNews_{};
  bool sawNews_{false};
  bool wasTold_{false};  ///< a notification told of the last news of this holder
  int lateInARow_{0};    ///< heartbeats that were seen much later than expected
  int seenInARow_{0};    ///< seen as expected, while the period is longer than configured
  int failures_{0};
  int idleHints_{0};    ///< reads since the last news that hints asked for
  Instant lastHint_{};  ///< the last of them
  Instant from_{};
  std::chrono::nanoseconds delay_{0};
};

}  // namespace tenure
