// Several LeaseMachines against a store, in virtual time, under a seed: every run can be replayed exactly.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "simulation/fault_kind.hpp"
#include "simulation/sim_point.hpp"
#include "simulation/sim_store.hpp"
#include "simulation/sim_timeline.hpp"

namespace tenure::test {

enum class SimMode {
  drawn,     ///< one of the two, by the seed
  safety,    ///< faults until the end; the only demand is that nothing bad happens
  liveness,  ///< faults, then none: a leader within a stated bound, which then stays the leader
};

enum class StoreKind {
  drawn,       ///< mostly the model
  model,       ///< a conditional register with a counter, as simple as possible
  memory,      ///< the memory store's table as it is shipped
  dynamodb,    ///< the DynamoDB store as it is shipped, over a simulated service
  postgresql,  ///< the PostgreSQL store as it is shipped, over a simulated database
  etcd,        ///< the etcd store as it is shipped, over a simulated cluster
  kubernetes,  ///< the Kubernetes store as it is shipped, over a simulated API server
};

struct SimOptions {
  std::uint64_t seed{0};
  SimMode mode{SimMode::drawn};
  StoreKind store{StoreKind::drawn};
  FaultSet allowed{FaultSet{}.set()};  ///< a run draws a subset of these
  std::size_t candidates{0};           ///< at most this many; 0: as drawn
  unsigned leases{60};                 ///< for how long there are faults
  Sabotage sabotage{Sabotage::none};
  bool canary{false};  ///< each hundredth seed fails, to show that failures are reported
  bool trace{false};
  bool timeline{false};

  friend bool operator==(const SimOptions&, const SimOptions&) = default;
};

struct Violation {
  std::string oracle;  ///< the rule, one word
  std::string text;    ///< who, when, what
};

struct SimTotals {
  std::uint64_t acquisitions{0}, renewals{0}, ambiguous{0}, requests{0}, steps{0}, crashes{0}, pauses{0};
  double hours{0};
  double leases{0};
  double slowestHeal{0};  ///< longest time from the end of the faults to a leader, in longest leases

  void add(const SimTotals& other);
};

struct SimReport {
  std::vector<Violation> violations;
  PointCounts points;
  SimTotals totals;
  std::uint64_t digest{0};  ///< hash of everything that was done: equal runs have equal digests
  std::string configuration;
  std::string trace;
  SimTimeline timeline;
};

[[nodiscard]] SimReport simulate(const SimOptions& options);

/// Builds without the DynamoDB store draw from the other stores.
[[nodiscard]] bool hasDynamoDb() noexcept;
[[nodiscard]] bool hasEtcd() noexcept;
[[nodiscard]] bool hasKubernetes() noexcept;

[[nodiscard]] std::string_view toString(SimMode mode) noexcept;
[[nodiscard]] std::string_view toString(StoreKind store) noexcept;

/// `tenure-sim --seed 7 --store model --mode safety`: the command that repeats this run.
[[nodiscard]] std::string replayCommand(const SimOptions& options);

}  // namespace tenure::test
