#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <tenure/lockcore/lease_options.hpp>

#include "option_ranges.hpp"

namespace tenure {
namespace {

using std::chrono::milliseconds;

std::string text(milliseconds value) { return std::to_string(value.count()) + "ms"; }

class Checker {
 public:
  using Range = LeaseRanges::Range;

  /// True if the value is unset or in the range `allowed`, which is what the other options leave of the range `own`.
  bool range(const char* field, std::optional<milliseconds> value, const Range& own, const Range& allowed) {
    if (!value || allowed.holds(*value)) return true;
    faults_.push_back(
        {.field = field,
         .message = text(*value) + " is out of range; allowed is " + text(allowed.least) + " to " + text(allowed.most),
         .outOfOwnRange = !own.holds(*value)});
    return false;
  }
  bool range(const char* field, std::optional<milliseconds> value, const Range& own) {
    return range(field, value, own, own);
  }
  /// Whether the lease has room for a renewal that fails: a second one must come before leadership ends.
  void roomForAFailure(const LeaseTiming& timing) {
    const auto [low, high] = std::minmax({timing.clockMargin(), timing.stopMargin()});
    if (low < milliseconds{0} || high > maxLeaseDuration) return;  // reported already, and the sum might overflow
    const milliseconds least = 2 * timing.heartbeat() + timing.clockMargin() + timing.stopMargin();
    if (timing.duration() >= least) return;
    faults_.push_back({"lease.heartbeat", "two heartbeats of " + text(timing.heartbeat()) + ", the clock margin of " +
                                              text(timing.clockMargin()) + " and the stop margin of " +
                                              text(timing.stopMargin()) + " make " + text(least) +
                                              ", more than the lease duration of " + text(timing.duration()) +
                                              ", so that one failed renewal would end leadership; shorten the "
                                              "heartbeat or lengthen lease.duration"});
  }
  [[nodiscard]] OptionFaults take() { return std::move(faults_); }
  [[nodiscard]] bool clean() const { return faults_.empty(); }

 private:
  OptionFaults faults_;
};

}  // namespace

void throw_exception_from_error(const OptionFaults& faults, const boost::source_location& /*where*/) {
  std::string all;
  for (const OptionFault& fault : faults) {
    if (!all.empty()) all += '\n';
    all += fault.field + ": " + fault.message;
  }
  throw std::invalid_argument(all);
}

boost::system::result<LeaseTiming, OptionFaults> LeaseTiming::from(const LeaseOptions& options) {
  Checker check;
  constexpr milliseconds zero{0};
  constexpr milliseconds minHeartbeat = LeaseRanges::heartbeat.least;
  const bool makesSense = check.range("lease.duration", options.duration, LeaseRanges::duration);
  // If the duration itself is invalid, the options that depend on it are only checked against limits that hold for
  // every duration.
  const milliseconds duration = makesSense ? options.duration : maxLeaseDuration;

  LeaseTiming timing;
  timing.duration_ = duration;
  timing.heartbeat_ = options.heartbeat.value_or(makesSense ? std::max(duration / 3, minHeartbeat) : minHeartbeat);
  // Rates of two clocks that differ by 500 ppm each way need 0.1 % (tests/model: wait >= L (1+e)/(1-e)); the
  // millisecond covers rounding.
  timing.clockMargin_ = options.clockMargin.value_or((duration + milliseconds{999}) / 1000 + milliseconds{1});
  timing.stopMargin_ = options.stopMargin.value_or(duration / 10);
  timing.drainTimeout_ = options.drainTimeout.value_or(duration);
  timing.progressTimeout_ = options.progressTimeout;

  const bool beats = check.range("lease.heartbeat", timing.heartbeat_, LeaseRanges::heartbeat);
  check.range("lease.clockMargin", timing.clockMargin_, LeaseRanges::clockMargin, {zero, duration / 2});
  check.range("lease.stopMargin", timing.stopMargin_, LeaseRanges::stopMargin, {zero, duration / 2});
  check.range("lease.drainTimeout", timing.drainTimeout_, LeaseRanges::drainTimeout);
  check.range("lease.progressTimeout", timing.progressTimeout_, LeaseRanges::progressTimeout,
              {beats ? timing.heartbeat_ : minHeartbeat, maxLeaseDuration});
  if (makesSense && beats) check.roomForAFailure(timing);
  if (!check.clean()) return check.take();
  return timing;
}

}  // namespace tenure
