// Which errors of a candidate are worth a line in the log.
#pragma once

#include <chrono>
#include <optional>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure {

/// The first of its class, and then one in a minute: a candidate that cannot be elected must say why, and one that
/// competes for a thousand leases through an outage must not fill the disk. (A leader's errors are told as doubts.)
class TroubleLog {
 public:
  [[nodiscard]] bool isNews(const Instant& now, const StoreError& error) {
    constexpr std::chrono::minutes pause{1};
    if (told_ && told_->errorClass == error.errorClass && elapsedForHolder(told_->at, now) < pause) return false;
    told_ = Told{error.errorClass, now};
    return true;
  }

  /// All is well: the next error is news again.
  void forget() noexcept { told_.reset(); }

 private:
  struct Told {
    ErrorClass errorClass;
    Instant at;
  };
  std::optional<Told> told_{};
};

}  // namespace tenure
