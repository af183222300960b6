// The clocks of one simulated machine, as functions of true time.
#pragma once

#include <chrono>

#include <tenure/lockcore/clock.hpp>

#include "support/seeded_random.hpp"

namespace tenure::test {

/// True time of a simulation: what a perfect clock would show. No machine can read it.
using TrueTime = std::chrono::nanoseconds;

struct ClockRates {
  double raw{1}, monotonic{1};

  /// RAW within `bound`; MONOTONIC in addition up to 8.3 % wrong if it is slewed (chrony's default).
  static ClockRates draw(SeededRandom& random, double bound, bool slewed);
};

/// The bases of the three clocks differ, as real ones do. Suspend stops RAW and MONOTONIC; a freeze stops all.
class SimClock {
 public:
  SimClock(SeededRandom& random, TrueTime now, ClockRates rates);

  [[nodiscard]] Instant at(TrueTime now) const;
  /// How much true time passes until BOOTTIME, which timers use, has moved by `d`; rounded up.
  [[nodiscard]] TrueTime trueTimeFor(std::chrono::nanoseconds d) const;
  /// The machine is suspended from now on for `d`. Not for a machine that is frozen.
  void suspend(TrueTime now, TrueTime d) {
    if (!frozen_.lasts(now)) asleep_.begin(now, d);
  }
  /// All clocks stand still from now on for `d`. Not for a machine that is suspended.
  void freeze(TrueTime now, TrueTime d) {
    if (!asleep_.lasts(now)) frozen_.begin(now, d);
  }

 private:
  /// A period that a clock does not count.
  class Gap {
   public:
    void begin(TrueTime now, TrueTime d);
    [[nodiscard]] TrueTime until(TrueTime now) const;
    [[nodiscard]] bool lasts(TrueTime now) const noexcept { return now < to_; }

   private:
    TrueTime before_{0}, from_{0}, to_{0};
  };

  TrueTime start_;
  Instant base_;
  ClockRates rates_;
  Gap asleep_, frozen_;
};

}  // namespace tenure::test
