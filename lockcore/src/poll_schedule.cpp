#include "poll_schedule.hpp"

#include <algorithm>

#include "mutants.hpp"

namespace tenure {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// The resolution of the phase: 1/32 of a heartbeat, but no less than the scatter of timers on a loaded machine.
nanoseconds stepOf(nanoseconds period) { return std::max<nanoseconds>(period / 32, milliseconds{2}); }

}  // namespace

nanoseconds backoff(int failures, ErrorClass errorClass, nanoseconds heartbeat, nanoseconds lease,
                    RandomSource& random) {
  const bool throttled = errorClass == ErrorClass::throttled;
  const bool passing = errorClass == ErrorClass::transient || throttled;
  const nanoseconds heartbeats = heartbeat * (throttled ? 2 : 1);
  const nanoseconds cap =
      passing ? std::max<nanoseconds>(heartbeats, milliseconds{100}) : std::max<nanoseconds>(lease, milliseconds{1000});
  const nanoseconds grown = heartbeats / 4 * (1 << std::min(failures, maxFailures));
  const nanoseconds wait = mutant::on(Mutant::backoffWithoutEnd) ? grown * 16 : std::min(grown, cap);
  // Around the wait and not below it: an outage must not be asked at more often than a healthy store is.
  return wait - wait / 4 + uniform(random, wait / 2);
}

PollSchedule::PollSchedule(nanoseconds heartbeat, nanoseconds lease) noexcept
    : configured_{heartbeat}, lease_{lease}, period_{heartbeat} {}

nanoseconds PollSchedule::untilDue(const Instant& now) const noexcept { return delay_ - elapsedForHolder(from_, now); }

void PollSchedule::next(const Instant& now, nanoseconds delay) noexcept {
  from_ = now;
  delay_ = delay;
}

void PollSchedule::hurry(const Instant& now) noexcept { next(now, nanoseconds{0}); }

void PollSchedule::answered(const Instant& now, bool news, bool hinted) noexcept {
  failures_ = 0;
  // A hint for nothing (the store tells of other leases too) says nothing of the holder: the plan stays.
  if (!news && hinted && untilDue(now) > nanoseconds{0}) return;
  if (!news) {
    // Early: look again after 1, 2, 4, ... steps, so that a silent holder costs a few reads and not a stream.
    const nanoseconds wait = stepOf(period_) * (1 << unchanged_);
    unchanged_ = std::min(unchanged_ + 1, 5);
    next(now, std::min(wait, period_));
    return;
  }
  learn(now, hinted);
  // With notifications the poll is only the fallback and stays behind them.
  next(now, hinted ? period_ + period_ / 4 : period_ - step_);
}

void PollSchedule::learn(const Instant& now, bool hinted) noexcept {
  const bool exact = hinted || unchanged_ > 0;
  if (sawNews_ && exact) {
    const nanoseconds interval = elapsedForHolder(lastNews_, now);
    // Half-way to each well-timed interval; bounded so that an outage of the holder or of the store does not teach it
    // a period of its own length.
    if (interval < lease_) period_ = std::clamp((period_ + interval) / 2, configured_ / 4, configured_ * 4);
  }
  step_ = exact ? nanoseconds{0} : stepOf(period_);
  lastNews_ = now;
  sawNews_ = true;
  unchanged_ = 0;
}

void PollSchedule::failed(const Instant& now, ErrorClass errorClass, RandomSource& random) {
  next(now, backoff(failures_, errorClass, configured_, lease_, random));
  failures_ = std::min(failures_ + 1, maxFailures);
}

}  // namespace tenure
