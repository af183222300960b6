// Many seeds on several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "simulation/simulation.hpp"

namespace tenure::test {

struct CampaignOptions {
  SimOptions base{};
  std::uint64_t first{1};
  std::uint64_t last{1};  ///< inclusive
  double hours{0};        ///< if not zero: as many seeds as fit into these hours, whatever `last` is
  unsigned jobs{1};
  std::size_t mostFailures{1};
  std::uint64_t twice{0};  ///< one seed in this many runs twice, and both runs must be equal; 0: none
};

struct Failure {
  SimOptions options;
  std::string configuration;
  Violation violation;
};

struct CampaignState {
  std::uint64_t seeds{0};
  std::uint64_t repeated{0};
  SimTotals totals;
  PointCounts points;
  std::vector<Failure> failures;  ///< sorted by seed; while the campaign runs, in the order in which they were found
};

/// `progress` is called about once a second, and at once for each failure (which is then the last one in a state that
/// is not sorted yet), from one thread at a time. It may be empty.
[[nodiscard]] CampaignState runCampaign(const CampaignOptions& options,
                                        const std::function<void(const CampaignState&)>& progress);

}  // namespace tenure::test
