// A timer descriptor that wakes its owner so that it can read the clock.
#pragma once

#include <chrono>
#include <optional>

#include "unique_fd.hpp"

namespace tenure::cli {

/// Only a wake-up call: whoever waits reads the clock when it comes and decides by that. The kernel's timers follow
/// clocks that a time daemon may slew by 8.3 %, so a long wait is approached in steps (7/8 of what is left, each
/// time) and the last one is too short to matter. Counts suspend.
class WakeTimer {
 public:
  /// Throws std::system_error.
  WakeTimer();

  [[nodiscard]] int descriptor() const noexcept { return timer_.get(); }

  /// Wakes after `left` at the latest (zero or less: at once); empty: never.
  void arm(std::optional<std::chrono::nanoseconds> left) noexcept;
  /// Takes an expiry off the descriptor; arm again afterwards.
  void drain() noexcept;

 private:
  UniqueFd timer_;
};

/// The earlier of two optional waits.
[[nodiscard]] std::optional<std::chrono::nanoseconds> earlier(std::optional<std::chrono::nanoseconds> a,
                                                              std::optional<std::chrono::nanoseconds> b) noexcept;

}  // namespace tenure::cli
