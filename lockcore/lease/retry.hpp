// When the next try of a holder or a releaser is due after failures.
#pragma once

#include <chrono>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure {

class MachineCore;

class Retry {
 public:
  /// The next try is due now; earlier failures still count.
  void hurry(const Instant& now) noexcept;
  void afterFailedRenewal(MachineCore& core, const Instant& now, const StoreError& error,
                          std::chrono::nanoseconds rightLeft);
  void afterFailedRelease(MachineCore& core, const Instant& now, const StoreError& error);

  [[nodiscard]] bool failed() const noexcept { return failures_ > 0; }
  [[nodiscard]] std::chrono::nanoseconds dueIn(const Instant& now) const noexcept {
    return after_ - elapsedForHolder(from_, now);
  }

 private:
  [[nodiscard]] std::chrono::nanoseconds grown(std::chrono::nanoseconds heartbeat);

  Instant from_{};
  std::chrono::nanoseconds after_{0};
  int failures_{0};
};

}  // namespace tenure
