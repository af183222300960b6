#include "simulation/sim_clock.hpp"

#include <algorithm>
#include <cmath>

namespace tenure::test {

using std::chrono::nanoseconds;

namespace {

constexpr double slewBound = 0.0833;

/// Mostly one of the two ends, where a guard that is too small shows.
double extreme(SeededRandom& random, double bound) {
  if (random.chance(0.7)) return random.chance(0.5) ? bound : -bound;
  return (static_cast<double>(random.below(2001)) / 1000.0 - 1.0) * bound;
}

nanoseconds scaled(nanoseconds d, double rate) {
  return nanoseconds{static_cast<std::int64_t>(static_cast<double>(d.count()) * rate)};
}

}  // namespace

ClockRates ClockRates::draw(SeededRandom& random, double bound, bool slewed) {
  ClockRates rates;
  rates.raw += extreme(random, bound);
  const double slew = extreme(random, slewBound);
  rates.monotonic = slewed ? 1 + slew : rates.raw;
  return rates;
}

SimClock::SimClock(SeededRandom& random, TrueTime now, ClockRates rates)
    : start_{now},
      base_{nanoseconds{random.below(1ULL << 40U)}, nanoseconds{random.below(1ULL << 41U)},
            nanoseconds{random.below(1ULL << 42U)}},
      rates_{rates} {}

void SimClock::Gap::begin(TrueTime now, TrueTime d) {
  before_ = until(now);
  from_ = now;
  to_ = now + d;
}

TrueTime SimClock::Gap::until(TrueTime now) const { return before_ + (std::min(std::max(now, from_), to_) - from_); }

Instant SimClock::at(TrueTime now) const {
  const TrueTime running = now - start_ - frozen_.until(now);
  const TrueTime suspended = std::min(asleep_.until(now), running);
  const TrueTime awake = running - suspended;
  const nanoseconds monotonic = scaled(awake, rates_.monotonic);
  return {base_.raw + scaled(awake, rates_.raw), base_.monotonic + monotonic, base_.boottime + monotonic + suspended};
}

TrueTime SimClock::trueTimeFor(nanoseconds d) const {
  return scaled(d, 1 / rates_.monotonic) + nanoseconds{d.count() > 0 ? 2 : 0};
}

}  // namespace tenure::test
