// The time that one call of a store may take.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure {

/// When a call has to be answered. Time is counted as a holder counts it, so a call that spent its time suspended is
/// over when the machine wakes.
class CallDeadline {
 public:
  CallDeadline(std::shared_ptr<const Clock> clock, std::chrono::nanoseconds timeout)
      : clock_{std::move(clock)}, start_{clock_->now()}, timeout_{timeout} {}

  [[nodiscard]] std::chrono::nanoseconds left() const noexcept {
    return timeout_ - elapsedForHolder(start_, clock_->now());
  }

 private:
  std::shared_ptr<const Clock> clock_;
  Instant start_;
  std::chrono::nanoseconds timeout_;
};

}  // namespace tenure
