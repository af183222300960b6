// How long a call may take.
#pragma once

#include <chrono>

#include <tenure/lockcore/clock.hpp>

namespace tenure::sqlite_store {

/// Counts time as a holder does: a call that spent its time suspended is over when the machine wakes.
class Deadline {
 public:
  Deadline(const Instant& start, std::chrono::nanoseconds timeout) noexcept : start_{start}, timeout_{timeout} {}

  [[nodiscard]] std::chrono::nanoseconds left() const noexcept {
    return timeout_ - elapsedForHolder(start_, readClock());
  }
  [[nodiscard]] bool passed() const noexcept { return left().count() <= 0; }
  [[nodiscard]] std::chrono::nanoseconds timeout() const noexcept { return timeout_; }

 private:
  Instant start_;
  std::chrono::nanoseconds timeout_;
};

}  // namespace tenure::sqlite_store
