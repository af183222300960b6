// Several LeaseMachines against a model store, in virtual time, under a seed: every run replays exactly.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lockcore/simulation/sim_store.hpp"

namespace tenure::test {

struct SimOptions {
  std::uint64_t seed{0};
  Sabotage sabotage{Sabotage::none};
  bool trace{false};
};

struct SimReport {
  std::vector<std::string> violations;
  std::map<std::string, std::uint64_t> counts;  // what happened, so that a suite can show that it was not blind
  std::uint64_t digest{0};                      // of everything that was done: equal runs, equal digests
  std::string trace;
};

/// A phase with faults (a random subset of the kinds, by the seed), a calm phase in which exactly one must lead without
/// an end, and a polite stop of all.
[[nodiscard]] SimReport simulate(const SimOptions& options);

}  // namespace tenure::test
