// `run --wait`: how long to wait for leadership.
#pragma once

#include <chrono>
#include <optional>

#include <tenure/lockcore/clock.hpp>

#include "lockcore/driver/lease_driver.hpp"

namespace tenure::cli {

/// Zero means: leave as soon as it is certain that somebody else leads, or that the store cannot tell. If a leader is
/// seen, there is a short wait in case it is proven dead, because a dead holder's lease is taken over at once.
class WaitLimit {
 public:
  WaitLimit(std::optional<std::chrono::milliseconds> wait, const Instant& since) noexcept
      : wait_{wait}, since_{since} {}

  /// This copy leads now, or the program ends for another reason.
  void lift() noexcept { wait_.reset(); }
  void leaderSeen(bool other, const Instant& now) noexcept;

  /// When to ask again; empty: not needed.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilLook(const Instant& now) const noexcept;
  [[nodiscard]] bool isOver(const Instant& now, const LeaseStatus& status) const noexcept;

 private:
  std::optional<std::chrono::milliseconds> wait_;
  Instant since_;
  std::optional<Instant> othersLeadSince_;
};

}  // namespace tenure::cli
