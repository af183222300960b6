#include "lockcore/simulation/sim_clock.hpp"

#include <algorithm>
#include <cmath>

namespace tenure::test {

using std::chrono::nanoseconds;

namespace {

constexpr double rateBound = 500e-6;
constexpr double slewBound = 0.0833;

/// Mostly at one of the ends: that is where a guard that is too small shows.
double extreme(SeededRandom& random, double bound) {
  if (random.chance(0.7)) return random.chance(0.5) ? bound : -bound;
  return (static_cast<double>(random.below(2001)) / 1000.0 - 1.0) * bound;
}

nanoseconds scaled(nanoseconds d, double rate) {
  return nanoseconds{static_cast<std::int64_t>(std::llround(static_cast<double>(d.count()) * rate))};
}

}  // namespace

SimClock::SimClock(SeededRandom& random, TrueTime now, bool slewed)
    : start_{now},
      base_{nanoseconds{random.below(1ULL << 40U)}, nanoseconds{random.below(1ULL << 41U)},
            nanoseconds{random.below(1ULL << 42U)}},
      rawRate_{1 + extreme(random, rateBound)},
      monotonicRate_{1 + extreme(random, slewed ? slewBound : rateBound)} {}

Instant SimClock::at(TrueTime now) const {
  TrueTime suspended = suspendedBefore_;
  if (now > suspendFrom_) suspended += std::min(now, suspendUntil_) - suspendFrom_;
  const TrueTime awake = now - start_ - suspended;
  const nanoseconds monotonic = scaled(awake, monotonicRate_);
  return {base_.raw + scaled(awake, rawRate_), base_.monotonic + monotonic, base_.boottime + monotonic + suspended};
}

TrueTime SimClock::trueTimeFor(nanoseconds d) const {
  return scaled(d, 1 / monotonicRate_) + nanoseconds{d.count() > 0 ? 2 : 0};
}

void SimClock::suspend(TrueTime now, TrueTime d) {
  suspendedBefore_ += suspendUntil_ - suspendFrom_;
  suspendFrom_ = now;
  suspendUntil_ = now + d;
}

}  // namespace tenure::test
