// `run --wait`: how long to wait for leadership.
#pragma once

#include <chrono>
#include <optional>

#include <tenure/lockcore/clock.hpp>

#include "lockcore/driver/lease_driver.hpp"

namespace tenure::cli {

/// Zero means: leave as soon as it is certain that somebody else leads, or that the store cannot tell. Who is seen
/// leading gets a moment to turn out dead, since a dead holder is succeeded at once.
class WaitLimit {
 public:
  WaitLimit(std::optional<std::chrono::milliseconds> wait, const Instant& since) noexcept
      : wait_{wait}, since_{since} {}

  /// Leadership came, or the program ends for another reason.
  void lift() noexcept { wait_.reset(); }
  void leaderSeen(bool other, const Instant& now) noexcept;

  /// When to ask again; empty: no need.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilLook(const Instant& now) const noexcept;
  [[nodiscard]] bool isOver(const Instant& now, const LeaseStatus& status) const noexcept;

 private:
  std::optional<std::chrono::milliseconds> wait_;
  Instant since_;
  std::optional<Instant> othersLeadSince_;
};

}  // namespace tenure::cli
