// What goes wrong in one simulated run, and how often.
#pragma once

#include <array>
#include <chrono>

#include <tenure/lockcore/lease_options.hpp>

#include "simulation/sim_clock.hpp"
#include "simulation/simulation.hpp"

namespace tenure::test {

/// One stream for each concern: one more draw in one does not shift the others.
struct SimStreams {
  explicit SimStreams(std::uint64_t seed);

  SeededRandom plan, network, clock, load, process;
  std::array<SeededRandom, faultKinds> faults;
};

/// Swarm testing: each run switches a random subset of the fault kinds on, so that combinations are met that a mixture
/// of everything at once would drown.
struct SimPlan {
  SimPlan(const SimOptions& options, SimStreams& streams);

  std::chrono::milliseconds lease{1000};
  std::size_t candidates{3};
  SimMode mode{SimMode::safety};
  StoreKind store{StoreKind::model};
  TrueTime leastDelay{0}, mostDelay{0};  // of a message, one way
  double rateBound{500e-6};              // how wrong RAW may be; the guard covers it
  std::array<double, faultKinds> rates{};

  [[nodiscard]] double rate(FaultKind kind) const noexcept { return rates[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] bool has(FaultKind kind) const noexcept { return rate(kind) > 0; }
  /// The timing of one candidate. `tellsProgress`: its work can get stuck, as a lock's cannot.
  [[nodiscard]] LeaseTiming timingFor(SeededRandom& random, bool tellsProgress) const;
  /// Another one, of half, once or twice the usual lease.
  [[nodiscard]] LeaseTiming changedTiming(SeededRandom& random, bool tellsProgress) const;
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] LeaseOptions optionsFor(std::chrono::milliseconds duration, bool tellsProgress) const;
};

}  // namespace tenure::test
