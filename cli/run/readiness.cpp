#include "readiness.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace tenure::cli {

using std::chrono::nanoseconds;

void Readiness::act(const Instant& now) {
  if (stopped_) return;
  if (present_) {
    present_->act(now);
    if (!present_->status()) return;
    const bool ready = present_->succeeded();
    const std::string why = std::exchange(present_, nullptr)->text();
    answered(ready, why, now);
  }
  if (untilWake(now)->count() <= 0) begin(now);
}

void Readiness::begin(const Instant& now) {
  try {
    present_ = options_.run(now);
  } catch (const std::system_error& error) {
    answered(false, error.what(), now);
  }
}

void Readiness::answered(bool ready, const std::string& why, const Instant& now) {
  endedAt_ = now;
  if (std::exchange(told_, true) && ready == ready_) return;
  ready_ = ready;
  options_.changed(ready, why);
}

void Readiness::stop() noexcept {
  stopped_ = true;
  if (present_) present_->kill();
  present_.reset();
}

std::optional<pollfd> Readiness::descriptor() const {
  return present_ ? std::optional{present_->descriptor()} : std::nullopt;
}

std::optional<nanoseconds> Readiness::untilWake(const Instant& now) const {
  if (stopped_) return std::nullopt;
  if (present_) return present_->untilWake(now);
  if (!endedAt_) return nanoseconds{0};
  return std::max(options_.every - elapsedForHolder(*endedAt_, now), nanoseconds{0});
}

}  // namespace tenure::cli
