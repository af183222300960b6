// How long this copy stays away from the election after a job ended by itself.
#pragma once

#include <algorithm>
#include <chrono>

namespace tenure::cli {

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

}  // namespace tenure::cli
