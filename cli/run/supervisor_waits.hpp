// What the supervisor waits for, and for how long. Pure: time is an argument.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <tenure/lockcore/clock.hpp>

#include "lockcore/driver/lease_driver.hpp"

namespace tenure::cli {

/// `run --wait`: how long to wait for leadership.
///
/// Zero means: leave as soon as it is certain that somebody else leads, or that the store cannot tell. If a leader is
/// seen, there is a short wait in case it is proven dead, because a dead holder's lease is taken over at once.
///
/// `proofTime`: how much longer to wait for a sign of life of the leader that was seen. A record proves none: if nobody
/// stayed for as long as its lease, no copy would ever take over from a dead leader.
class WaitLimit {
 public:
  WaitLimit(std::optional<std::chrono::milliseconds> wait, const Instant& since,
            std::chrono::nanoseconds proofTime = std::chrono::nanoseconds{0}) noexcept
      : wait_{wait}, since_{since}, proofTime_{proofTime} {}

  /// The leader lives as far as this copy can tell. A pause has no process that could show it.
  [[nodiscard]] static bool isProvenBusy(const LeaseStatus& status);

  /// This copy leads now, or the program ends for another reason.
  void lift() noexcept { wait_.reset(); }
  void leaderSeen(bool other, const Instant& now) noexcept;

  /// When to ask again; empty: not needed.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilLook(const Instant& now) const noexcept;
  [[nodiscard]] bool isOver(const Instant& now, const LeaseStatus& status) const;

 private:
  std::optional<std::chrono::milliseconds> wait_;
  Instant since_;
  std::chrono::nanoseconds proofTime_;
  std::optional<Instant> othersLeadSince_;
};

/// How long this copy stays away from the election after a job ended by itself.
///
/// One lease duration, so that another candidate can get the lease. After each further failure in a row twice as long,
/// up to five minutes (or one lease, if that is longer). A job that ended with exit code 0, or ran for longer than the
/// delay before it, starts a new row.
class RestartDelay {
 public:
  explicit RestartDelay(std::chrono::nanoseconds lease) noexcept : lease_{lease}, next_{lease} {}

  [[nodiscard]] std::chrono::nanoseconds afterEnd(bool failed, std::chrono::nanoseconds ran) noexcept {
    if (!failed || ran > present_) next_ = lease_;
    present_ = next_;
    next_ = std::min(next_ * 2, std::max<std::chrono::nanoseconds>(lease_, std::chrono::minutes{5}));
    return present_;
  }
  [[nodiscard]] std::chrono::nanoseconds present() const noexcept { return present_; }

 private:
  std::chrono::nanoseconds lease_;
  std::chrono::nanoseconds next_;
  std::chrono::nanoseconds present_{0};
};

/// A line for people that is printed only if it still holds after a second: who holds what they wait for, or that the
/// job has not ended although it was asked to.
class DelayedNote {
 public:
  void set(std::string text, const Instant& now) {
    text_ = std::move(text);
    since_ = now;
  }
  void drop() noexcept { text_.reset(); }

  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilDue(const Instant& now) const {
    if (!text_) return std::nullopt;
    return delay - elapsedForHolder(since_, now);
  }
  /// The text, once, when it is due.
  [[nodiscard]] std::optional<std::string> take(const Instant& now) {
    if (!text_ || untilDue(now)->count() > 0) return std::nullopt;
    return std::exchange(text_, std::nullopt);
  }

 private:
  static constexpr std::chrono::seconds delay{1};

  std::optional<std::string> text_{};
  Instant since_{};
};

}  // namespace tenure::cli
