// The result of a campaign, for people and as JSON.
#pragma once

#include <string>
#include <vector>

#include "simulation/mutant_table.hpp"
#include "simulation/sim_campaign.hpp"

namespace tenure::test {

/// Escape sequences, empty where they are not wanted.
struct Colours {
  const char* red{""};
  const char* green{""};
  const char* plain{""};

  /// Only on a terminal, and not with NO_COLOR.
  static Colours forOutput(int descriptor);
};

/// `git describe` of the sources, or "unknown".
[[nodiscard]] std::string commitText();

[[nodiscard]] std::string summaryText(const CampaignState& state, double seconds);
[[nodiscard]] std::string campaignJson(const CampaignState& state, double seconds, const std::string& commit);
/// Points that no run has reached.
[[nodiscard]] std::vector<std::string> missedPoints(const PointCounts& points);
[[nodiscard]] std::string failureText(const Failure& failure, const std::string& commit);

struct MutantKill {
  const MutantInfo* info{nullptr};
  std::uint64_t seed{0};  ///< the first seed that kills it; 0: none did
  Violation violation{};
  double seconds{0};
};
[[nodiscard]] std::string mutantsJson(const std::vector<MutantKill>& kills, std::uint64_t mostSeeds,
                                      const std::string& commit);
/// Of the killing seeds; a surviving mutant counts as one more than `mostSeeds`.
[[nodiscard]] double medianSeed(const std::vector<MutantKill>& kills, std::uint64_t mostSeeds);

}  // namespace tenure::test
