// Internal: how long a call that waits may take.
#pragma once

#include <algorithm>
#include <chrono>

#include <tenure/lockcore/clock.hpp>

namespace tenure {

/// Counted from its construction, in real time, whatever clock the scheduler shows.
class Patience {
 public:
  explicit Patience(std::chrono::nanoseconds length) : length_{length} {}

  [[nodiscard]] std::chrono::nanoseconds left() const {
    return std::max(length_ - elapsedForHolder(from_, readClock()), std::chrono::nanoseconds{0});
  }

 private:
  const Instant from_{readClock()};
  const std::chrono::nanoseconds length_;
};

}  // namespace tenure
