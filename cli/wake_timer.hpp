// A timer descriptor that wakes its owner so that it can read the clock.
#pragma once

#include <chrono>
#include <optional>

#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::cli {

/// The timer only wakes: its owner then reads the clock and decides by that. The kernel's timers follow clocks that a
/// time daemon may slew by 8.3 %. So a long wait is approached in steps (7/8 of the remaining time, each time), until
/// the last step is too short to matter. Counts suspend.
class WakeTimer {
 public:
  /// Throws std::system_error.
  WakeTimer();

  [[nodiscard]] int descriptor() const noexcept { return timer_.get(); }

  /// Wakes after `left` at the latest (zero or less: at once); empty: never.
  void arm(std::optional<std::chrono::nanoseconds> left) noexcept;
  /// Removes an expiry from the descriptor; arm again afterwards.
  void drain() noexcept;

 private:
  UniqueFd timer_;
};

/// The earlier of two optional waits.
[[nodiscard]] std::optional<std::chrono::nanoseconds> earlier(std::optional<std::chrono::nanoseconds> a,
                                                              std::optional<std::chrono::nanoseconds> b) noexcept;

}  // namespace tenure::cli
