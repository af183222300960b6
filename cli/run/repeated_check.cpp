#include "repeated_check.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace tenure::cli {

using std::chrono::nanoseconds;

void RepeatedCheck::act(const Instant& now, bool wanted) {
  if (stopped_) return;
  if (present_) {
    present_->act(now);
    if (!present_->status() && present_->isLate()) answered(false, present_->text());
    if (!present_->status()) return;
    const bool good = present_->succeeded();
    const std::string why = std::exchange(present_, nullptr)->text();
    if (good && options_.succeeded) options_.succeeded(beganAt_, now);
    endedAt_ = now;
    answered(good, why);
  }
  if (wanted && untilWake(now)->count() <= 0) begin(now);
}

void RepeatedCheck::begin(const Instant& now) {
  beganAt_ = now;
  try {
    present_ = options_.run(now);
  } catch (const std::exception& error) {
    endedAt_ = now;
    answered(false, error.what());
  }
}

void RepeatedCheck::answered(bool good, const std::string& why) {
  if (std::exchange(told_, true) && good == good_) return;
  good_ = good;
  options_.changed(good, why);
}

/// The object stays: its destructor would wait for the end of what was killed.
void RepeatedCheck::stop() noexcept {
  if (!std::exchange(stopped_, true) && present_) present_->kill();
}

std::optional<pollfd> RepeatedCheck::descriptor() const {
  return present_ && !stopped_ ? std::optional{present_->descriptor()} : std::nullopt;
}

std::optional<nanoseconds> RepeatedCheck::untilWake(const Instant& now, bool wanted) const {
  if (stopped_) return std::nullopt;
  if (present_) return present_->untilWake(now);
  if (!wanted) return std::nullopt;
  if (!endedAt_) return nanoseconds{0};
  return std::max(options_.every - elapsedForHolder(*endedAt_, now), nanoseconds{0});
}

}  // namespace tenure::cli
