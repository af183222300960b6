// The clocks of one simulated machine, as functions of true time.
#pragma once

#include <chrono>

#include <tenure/lockcore/clock.hpp>

#include "support/seeded_random.hpp"

namespace tenure::test {

/// True time of a simulation: what a perfect clock would show. No machine can read it.
using TrueTime = std::chrono::nanoseconds;

/// RAW is off by up to 500 ppm (the bound that the default guard covers); MONOTONIC and BOOTTIME are slewed besides, by
/// up to 8.3 % (chrony's default) in some runs; suspend stops RAW and MONOTONIC. The bases differ, as real ones do.
class SimClock {
 public:
  SimClock(SeededRandom& random, TrueTime now, bool slewed);

  [[nodiscard]] Instant at(TrueTime now) const;
  /// True time that passes until BOOTTIME, by which timers run, has moved by `d`; rounded up.
  [[nodiscard]] TrueTime trueTimeFor(std::chrono::nanoseconds d) const;
  /// The machine is suspended from now on for `d`.
  void suspend(TrueTime now, TrueTime d);

 private:
  TrueTime start_;
  Instant base_;
  double rawRate_;
  double monotonicRate_;
  TrueTime suspendedBefore_{0};  // in all
  TrueTime suspendFrom_{0};      // the last one
  TrueTime suspendUntil_{0};
};

}  // namespace tenure::test
