#include "poll_schedule.hpp"

#include <algorithm>
#include <utility>

#include "lockcore/port/random_draws.hpp"

namespace tenure {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// A fraction of the period, but no shorter than the jitter of timers on a loaded machine.
nanoseconds part(nanoseconds period, int divisor) { return std::max<nanoseconds>(period / divisor, milliseconds{2}); }

/// A heartbeat that comes a little later than expected lengthens the estimate of the period by a 16th of that.
constexpr int damping = 16;
/// After this many heartbeats in a row that come much later than expected, the holder has another rhythm.
constexpr int lateForNewRhythm = 3;
/// After this many heartbeats in a row that came as expected, one extra read checks whether there are more in between.
constexpr int seenForExtraRead = 8;
/// After this many hints in a row without news, this part of a period lies between two reads for hints. Where many
/// leases share a file, most hints are about others, and a hand-over must not wait for long behind them.
constexpr int idleHintsAtOnce = 8;
constexpr int idleHintsOfPeriod = 32;
constexpr std::chrono::milliseconds longestHintWait{25};

}  // namespace

nanoseconds backoff(int failures, ErrorClass errorClass, nanoseconds heartbeat, nanoseconds lease,
                    RandomSource& random) {
  const bool throttled = errorClass == ErrorClass::throttled;
  const bool passing = errorClass == ErrorClass::transient || throttled;
  const nanoseconds heartbeats = heartbeat * (throttled ? 2 : 1);
  const nanoseconds cap =
      passing ? std::max<nanoseconds>(heartbeats, milliseconds{100}) : std::max<nanoseconds>(lease, milliseconds{1000});
  const nanoseconds grown = heartbeats / 4 * (1 << std::min(failures, maxFailures));
  const nanoseconds wait = std::min(grown, cap);
  // Around the wait, and on average not shorter: a store in an outage must not be asked more often than a healthy one.
  return wait - wait / 4 + uniform(random, wait / 2);
}

PollSchedule::PollSchedule(nanoseconds heartbeat, nanoseconds lease) noexcept
    : configured_{heartbeat}, lease_{lease}, period_{heartbeat}, step_{heartbeat / 2} {}

nanoseconds PollSchedule::untilDue(const Instant& now) const noexcept { return delay_ - elapsedForHolder(from_, now); }

nanoseconds PollSchedule::untilHinted(const Instant& now) const noexcept {
  if (idleHints_ < idleHintsAtOnce) return nanoseconds{0};
  return std::min<nanoseconds>(part(period_, idleHintsOfPeriod), longestHintWait) - elapsedForHolder(lastHint_, now);
}

void PollSchedule::tookHint(const Instant& now) noexcept {
  if (elapsedForHolder(lastHint_, now) >= period_) idleHints_ = 0;
  idleHints_ = std::min(idleHints_ + 1, idleHintsAtOnce);
  lastHint_ = now;
}

nanoseconds PollSchedule::finestStep() const noexcept { return part(period_, 96); }

void PollSchedule::next(const Instant& now, nanoseconds delay) noexcept {
  from_ = now;
  delay_ = delay;
}

/// The search for the phase begins again.
void PollSchedule::postpone(const Instant& now, nanoseconds delay) noexcept {
  next(now, delay);
  planned_ = now + delay;
  seekPhase();
}

void PollSchedule::seekPhase() noexcept {
  step_ = period_ / 2;
  ahead_ = nanoseconds{0};
  foundNothing_ = false;
  extraRead_ = false;
  lateInARow_ = 0;
  seenInARow_ = 0;
}

void PollSchedule::meetHolder() noexcept {
  period_ = configured_;
  sawNews_ = false;
  wasTold_ = false;
  seekPhase();
}

void PollSchedule::answered(const Instant& now, bool news, bool hinted) noexcept {
  failures_ = 0;
  if (news) idleHints_ = 0;
  const bool due = untilDue(now) <= nanoseconds{0};
  // A hint without news (the store also notifies of other leases) says nothing about the holder: the plan stays.
  if (!news && hinted && !due) return;
  const bool wasExtra = std::exchange(extraRead_, false);
  if (!news && wasExtra) return next(now, elapsedForHolder(now, planned_));  // no heartbeat in between: the plan stays
  if (!news) return cameEarly(now);
  if (hinted) return toldOf(now);
  if (wasExtra) {
    // The extra read has met a heartbeat between two expected ones: what looked like one period was several.
    learnPeriod(elapsedForHolder(lastNews_, now));
    postpone(now, nanoseconds{0});
  }
  if (!due) postpone(now, nanoseconds{0});  // nobody expected it: a lost race showed it
  // Counts from the first read that was planned for it, and not from the answer. So neither a slow nor a lost answer
  // moves the later reads.
  const Instant looked = foundNothing_ ? now : planned_;
  const nanoseconds ahead = foundNothing_ ? aheadAfterEarly(looked) : aheadAfterSuccess();
  lastNews_ = now;
  sawNews_ = true;
  wasTold_ = false;
  planNext(now, looked, ahead);
}

void PollSchedule::planNext(const Instant& now, const Instant& looked, nanoseconds ahead) noexcept {
  foundNothing_ = false;
  ahead_ = ahead;
  planned_ = looked + (period_ - ahead);
  const nanoseconds late = elapsedForHolder(planned_, now);
  // After a slow answer the next heartbeats may be over already; they are not read.
  if (late >= nanoseconds{0}) planned_ = planned_ + period_ * (late / period_ + 1);
  // If the period is longer than configured, each read may be meeting every second heartbeat.
  const bool slow = period_ > configured_ + configured_ / 4;
  seenInARow_ = slow && step_ <= finestStep() ? seenInARow_ + 1 : 0;
  extraRead_ = seenInARow_ >= seenForExtraRead;
  if (extraRead_) seenInARow_ = 0;
  next(now, elapsedForHolder(now, planned_) - (extraRead_ ? period_ - configured_ : nanoseconds{0}));
}

/// Reads again soon, and then at growing intervals, so that a silent holder costs a few reads and not a stream of them.
/// A read that came much too early is followed by a longer first wait.
void PollSchedule::cameEarly(const Instant& now) noexcept {
  wait_ = foundNothing_ ? wait_ * 2 : std::max(ahead_ / 2, part(period_, 32));
  wait_ = std::min(wait_, period_);
  if (!foundNothing_) nothingSince_ = now;
  foundNothing_ = true;
  next(now, wait_);
}

/// Where renewals are notified, polling is only the fallback, and a poll comes a little after the notification is
/// expected. Some stores notify only of what changes the holder. Then the news tells the phase, and the poll is as
/// close behind the next heartbeat as jitter allows.
void PollSchedule::toldOf(const Instant& now) noexcept {
  if (sawNews_) {
    // The estimate moves half-way to each interval. It is bounded, so that an outage of the holder or of the store is
    // not taken for a period.
    const nanoseconds interval = elapsedForHolder(lastNews_, now);
    if (interval < lease_) learnPeriod((period_ + interval) / 2);
  }
  lastNews_ = now;
  sawNews_ = true;
  step_ = part(period_, std::exchange(wasTold_, true) ? 4 : 16);
  planNext(now, now, -step_);
}

void PollSchedule::learnPeriod(nanoseconds period) noexcept {
  period_ = std::clamp(period, configured_ / 4, configured_ * 4);
}

/// The news may be of any age up to the step. At the finest step the estimate of the period shrinks a little as well:
/// an estimate that is too long would make each read later than the one before, and nothing would show it.
nanoseconds PollSchedule::aheadAfterSuccess() noexcept {
  lateInARow_ = 0;
  if (step_ <= finestStep()) learnPeriod(period_ - finestStep() / (4 * damping));
  return std::exchange(step_, std::max(step_ / 2, finestStep()));
}

/// The heartbeat came between the last two reads. Once the phase is known, a heartbeat that comes much later is first
/// taken for a single delay, and the next read makes up for little of it: a holder that keeps to a grid is back on it
/// by then.
nanoseconds PollSchedule::aheadAfterEarly(const Instant& looked) noexcept {
  const nanoseconds late = elapsedForHolder(nothingSince_, looked);
  const nanoseconds trusted = period_ / 16;
  const nanoseconds interval = sawNews_ ? elapsedForHolder(lastNews_, looked) : lease_;
  const bool settled = step_ <= finestStep();
  if (late <= trusted) {
    lateInARow_ = 0;
    learnPeriod(period_ + late / damping);
    return nanoseconds{0};
  }
  const bool again = interval >= lease_;  // the holder was silent, and has started again
  lateInARow_ = again ? 0 : lateInARow_ + 1;
  if (lateInARow_ == 1 && settled) return late - trusted;
  if (lateInARow_ >= lateForNewRhythm) learnPeriod((period_ + interval) / 2);
  step_ = std::max(wait_ / 4, finestStep());
  return wait_ / 2;
}

void PollSchedule::failed(const Instant& now, ErrorClass errorClass, RandomSource& random) {
  next(now, backoff(failures_, errorClass, configured_, lease_, random));
  failures_ = std::min(failures_ + 1, maxFailures);
}

}  // namespace tenure
