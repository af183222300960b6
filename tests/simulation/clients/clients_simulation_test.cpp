// The public classes under faults, by seeds (I1, I4, I5, I9, I10). tests/simulation/README.md says how to run more of
// it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "simulation/clients/client_sim.hpp"

namespace tenure::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
constexpr std::uint64_t usualSeeds = 60;
#else
constexpr std::uint64_t usualSeeds = 1200;
#endif

std::uint64_t seeds() {
  const char* text = std::getenv("TENURE_SIM_SEEDS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : usualSeeds;
}

TEST(ClientsSimulation, holdsEveryRuleAndMeetsEveryRarePoint) {
  const ClientCampaign campaign = runClients({}, 1, seeds(), 0, 1);
  EXPECT_FALSE(campaign.failed) << failureText(campaign);
  RecordProperty("hours", std::to_string(campaign.hours));
  if (campaign.seeds >= 1200) {
    EXPECT_EQ(missedClientPoints(campaign.points), "");
  }
}

TEST(ClientsSimulation, theSameSeedDoesTheSame) {
  const ClientReport first = simulateClients({.seed = 4, .trace = true});
  const ClientReport second = simulateClients({.seed = 4, .trace = true});
  EXPECT_EQ(first.trace, second.trace);
  EXPECT_EQ(first.digest, second.digest);
  EXPECT_FALSE(first.trace.empty());
  EXPECT_NE(first.digest, simulateClients({.seed = 5}).digest);
}

TEST(ClientsSimulation, scheduledJobsDoTheSameWithTheSameSeed) {
  const ClientOptions options{.seed = 2, .leases = 300, .jobs = true};
  const ClientReport first = simulateClients(options);
  EXPECT_EQ(first.oracle, "") << first.text;
  EXPECT_EQ(first.digest, simulateClients(options).digest);
  EXPECT_GT(first.points.at("jobBegun"), 20U);
}

TEST(ClientsSimulation, theCanaryFailsAndTellsHowToReplay) {
  const ClientCampaign campaign = runClients({.leases = 4, .canary = true}, 199, 201, 0, 1);
  ASSERT_TRUE(campaign.failed);
  EXPECT_NE(failureText(campaign).find("tenure-sim-clients --seed 200 --leases 4 --canary --trace"), std::string::npos);
}

TEST(ClientsSimulation, listsOfFaultsAreReadBackAsWritten) {
  for (const char* list : {"all", "none", "crash,pause", "all-late-crash"}) {
    const auto set = disturbancesFrom(list);
    ASSERT_TRUE(set) << list;
    EXPECT_EQ(disturbancesFrom(toString(*set)), set) << list;
  }
  EXPECT_EQ(disturbancesFrom("all-late-crash")->count(), disturbances - 2);
  EXPECT_FALSE(disturbancesFrom("crash,typhoon"));
}

/// Each line of `regressions.txt` has seed, faults and leases of a run that once broke a rule.
TEST(ClientsSimulation, whatOnceBrokeARuleStaysMended) {
  std::ifstream file{TENURE_CLIENT_REGRESSIONS};
  ASSERT_TRUE(file);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words{line};
    ClientOptions options;
    std::string faults;
    ASSERT_TRUE(words >> options.seed >> faults >> options.leases) << line;
    const auto allowed = disturbancesFrom(faults);
    ASSERT_TRUE(allowed) << line;
    options.allowed = *allowed;
    const ClientReport report = simulateClients(options);
    EXPECT_EQ(report.oracle, "") << line << ": " << report.text;
  }
}

}  // namespace
}  // namespace tenure::test
