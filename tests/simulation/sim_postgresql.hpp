// The PostgreSQL store as it is shipped, over a simulated database.
#pragma once

#include <cstdint>
#include <memory>

#include "simulation/sim_clock.hpp"
#include "simulation/sim_endpoint.hpp"

namespace tenure::test {

struct PostgreSqlPlan {
  bool synchronous{false};  ///< a commit is answered when a standby has it; such a standby is the one to be promoted
  bool pooled{false};       ///< a pooler may hold a request and send it to the server that is primary then
  FencingToken counter{};   ///< an operator has set it before the first candidate began
  std::uint64_t seed{0};
  /// The longest transaction of writers that check the lease's row and overlap for as long as the check admits them,
  /// whether their term is over or not; 0: nobody writes.
  TrueTime longestWrite{0};
};

[[nodiscard]] std::unique_ptr<SimService> makeSimPostgreSql(const PostgreSqlPlan& plan);

}  // namespace tenure::test
