// What goes wrong in one simulated run, and how often.
#pragma once

#include <array>
#include <chrono>

#include <tenure/lockcore/lease_options.hpp>

#include "simulation/sim_clock.hpp"
#include "simulation/simulation.hpp"

namespace tenure::test {

/// One stream for each concern: one more draw in one of them does not shift the others.
struct SimStreams {
  explicit SimStreams(std::uint64_t seed);

  SeededRandom plan, network, clock, load, process;
  std::array<SeededRandom, faultKinds> faults;
};

/// Swarm testing: each run enables a random subset of the fault kinds. So combinations occur that would be too rare in
/// a mixture of everything at once.
struct SimPlan {
  SimPlan(const SimOptions& options, SimStreams& streams);

  std::chrono::milliseconds lease{1000};
  std::size_t candidates{3};
  SimMode mode{SimMode::safety};
  StoreKind store{StoreKind::model};
  TrueTime leastDelay{0}, mostDelay{0};  // of a message, in one direction
  double rateBound{500e-6};              // how wrong RAW may be; the guard covers it
  std::array<double, faultKinds> rates{};

  [[nodiscard]] double rate(FaultKind kind) const noexcept { return rates[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] bool has(FaultKind kind) const noexcept { return rate(kind) > 0; }
  /// The timing of one candidate. `tellsProgress`: its work can get stuck. The work of a lock cannot.
  [[nodiscard]] LeaseTiming timingFor(SeededRandom& random, bool tellsProgress) const;
  /// Another timing, of half the usual lease, the usual one or twice that.
  [[nodiscard]] LeaseTiming changedTiming(SeededRandom& random, bool tellsProgress) const;
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] LeaseOptions optionsFor(std::chrono::milliseconds duration, bool tellsProgress) const;
};

}  // namespace tenure::test
