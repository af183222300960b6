// Decides which errors of a candidate are logged.
#pragma once

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <string>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure {

/// The first error of its kind, and then one in a minute. A candidate that cannot be elected must say why, but one that
/// competes for a thousand leases through an outage must not fill the disk. (A leader's errors are reported as doubts.)
class TroubleLog {
 public:
  [[nodiscard]] bool isNews(const Instant& now, const StoreError& error) {
    constexpr std::chrono::minutes pause{1};
    const std::string kind = kindOf(error);
    if (told_ && told_->kind == kind && elapsedForHolder(told_->at, now) < pause) return false;
    told_ = Told{kind, now};
    return true;
  }

  /// All is well: the next error is news again.
  void forget() noexcept { told_.reset(); }

 private:
  /// The message without its numbers, which change from one error to the next (times, ports, process ids).
  [[nodiscard]] static std::string kindOf(const StoreError& error) {
    std::string kind{toString(error.errorClass)};
    std::copy_if(error.message.begin(), error.message.end(), std::back_inserter(kind),
                 [](char c) { return c < '0' || c > '9'; });
    return kind;
  }

  struct Told {
    std::string kind;
    Instant at;
  };
  std::optional<Told> told_{};
};

}  // namespace tenure
