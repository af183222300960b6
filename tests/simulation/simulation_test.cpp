// The protocol under all faults at once (I1 to I5, I7 to I11, stability and liveness; faults T1 to T16, T18, T28, T29).
// tests/simulation/README.md says how to run more seeds and how to read the output.
//
//   TENURE_SIM_SEEDS=100000 simulation_test --gtest_filter='Simulation.holds*'    more seeds
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "simulation/mutant_table.hpp"
#include "simulation/sim_report.hpp"
#include "simulation/sim_shrink.hpp"

namespace tenure::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
constexpr std::uint64_t slowdown = 10;
#else
constexpr std::uint64_t slowdown = 1;
#endif

std::uint64_t seedsOr(std::uint64_t usual) {
  if (const char* text = std::getenv("TENURE_SIM_SEEDS")) return std::strtoull(text, nullptr, 10);
  return usual / slowdown;
}

CampaignState run(const SimOptions& base, std::uint64_t seeds, std::uint64_t first = 1) {
  CampaignOptions options;
  options.base = base;
  options.first = first;
  options.last = first + seeds - 1;
  return runCampaign(options, {});
}

/// One seed in some 2,000 lets a leader outlive the overwriting of its record for a moment.
constexpr std::uint64_t seedOfAnOverwriting = 6552;

std::string told(const CampaignState& state) {
  std::string out;
  for (const Failure& failure : state.failures) {
    out += failureText(failure, commitText());
    const Shrunk small = shrink(failure.options);
    out += "  shrunk:  " + replayCommand(small.options) + '\n';
  }
  return out;
}

TEST(Simulation, holdsEveryInvariantAndMeetsEveryRarePath) {
  const std::uint64_t seeds = seedsOr(4000);
  CampaignState state = run({}, seeds);
  EXPECT_TRUE(state.failures.empty()) << told(state);
  RecordProperty("hours", std::to_string(state.totals.hours));
  RecordProperty("acquisitions", std::to_string(state.totals.acquisitions));
  if (seeds < 4000) return;  // too few runs to reach all points
  state.points.add(run({}, 1, seedOfAnOverwriting).points);
  for (const std::string& point : missedPoints(state.points)) ADD_FAILURE() << "never met: " << point;
}

TEST(Simulation, holdsOverTheMemoryStoreAsItIsShipped) {
  const CampaignState state = run({.store = StoreKind::memory}, seedsOr(300));
  EXPECT_TRUE(state.failures.empty()) << told(state);
}

TEST(Simulation, holdsOverTheDynamoDbStoreAsItIsShipped) {
  if (!hasDynamoDb()) return;
  const CampaignState state = run({.store = StoreKind::dynamodb}, seedsOr(100));
  EXPECT_TRUE(state.failures.empty()) << told(state);
}

TEST(Simulation, holdsOverThePostgreSqlStoreAsItIsShipped) {
  const CampaignState state = run({.store = StoreKind::postgresql}, seedsOr(200));
  EXPECT_TRUE(state.failures.empty()) << told(state);
}

TEST(Simulation, holdsOverTheEtcdStoreAsItIsShipped) {
  if (!hasEtcd()) return;
  const CampaignState state = run({.store = StoreKind::etcd}, seedsOr(200));
  EXPECT_TRUE(state.failures.empty()) << told(state);
}

TEST(Simulation, holdsOverTheKubernetesStoreAsItIsShipped) {
  if (!hasKubernetes()) return;
  const CampaignState state = run({.store = StoreKind::kubernetes}, seedsOr(200));
  EXPECT_TRUE(state.failures.empty()) << told(state);
}

TEST(Simulation, healsWithinTheStatedBound) {
  const CampaignState state = run({.mode = SimMode::liveness}, seedsOr(300));
  EXPECT_TRUE(state.failures.empty()) << told(state);
  EXPECT_GT(state.totals.slowestHeal, 0.0);
}

TEST(Simulation, theSameSeedGivesTheSameTrace) {
  std::set<std::uint64_t> digests;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const SimReport quiet = simulate({.seed = seed});
    const SimReport first = simulate({.seed = seed, .trace = true});
    const SimReport second = simulate({.seed = seed, .trace = true, .timeline = true});
    EXPECT_EQ(first.trace, second.trace);
    EXPECT_FALSE(first.trace.empty());
    EXPECT_EQ(quiet.digest, second.digest);
    digests.insert(quiet.digest);
  }
  EXPECT_EQ(digests.size(), 20U);
}

/// The number of threads does not change the result either.
TEST(Simulation, threadsChangeNothing) {
  CampaignOptions options;
  options.last = 40;
  options.twice = 10;
  const CampaignState alone = runCampaign(options, {});
  options.jobs = 4;
  const CampaignState together = runCampaign(options, {});
  EXPECT_EQ(alone.totals.steps, together.totals.steps);
  EXPECT_EQ(alone.totals.acquisitions, together.totals.acquisitions);
  EXPECT_EQ(together.repeated, 4U);
}

/// The checks notice a broken store. The mutants show that they notice a broken machine.
TEST(Simulation, seesABrokenStore) {
  for (const Sabotage sabotage :
       {Sabotage::noCondition, Sabotage::noRenewCondition, Sabotage::tokenRestarts, Sabotage::openTermUntold}) {
    const CampaignState state = run({.store = StoreKind::model, .sabotage = sabotage}, 500);
    EXPECT_FALSE(state.failures.empty()) << "sabotage " << static_cast<int>(sabotage) << " was not seen";
  }
}

TEST(Simulation, theCanaryFails) {
  CampaignOptions options;
  options.base.canary = true;
  options.base.leases = 4;
  options.first = 195;
  options.last = 205;
  options.mostFailures = 100;
  const CampaignState state = runCampaign(options, {});
  ASSERT_EQ(state.failures.size(), 1U);
  EXPECT_EQ(state.failures[0].options.seed, 200U);
  const std::string text = failureText(state.failures[0], "abc");
  EXPECT_NE(text.find("tenure-sim --seed 200 --leases 4 --canary --trace"), std::string::npos) << text;
  EXPECT_NE(text.find("commit abc"), std::string::npos);
}

TEST(Simulation, shrinksAFailure) {
  const SimOptions broken{.store = StoreKind::model, .sabotage = Sabotage::noCondition};
  const CampaignState state = run(broken, 500);
  ASSERT_FALSE(state.failures.empty());
  const Shrunk small = shrink(state.failures[0].options);
  EXPECT_FALSE(small.report.violations.empty());
  EXPECT_LT(small.options.allowed.count(), faultKinds / 2);
  EXPECT_LE(small.options.leases, SimOptions{}.leases);
  EXPECT_EQ(simulate(small.options).digest, small.report.digest);
}

TEST(Simulation, drawsAPicture) {
  const SimReport report = simulate({.seed = 3, .timeline = true});
  const std::string page = htmlOf(report.timeline, "a <title>", "words");
  EXPECT_NE(page.find("a &lt;title>"), std::string::npos);
  EXPECT_NE(page.find("<title>token 1, from"), std::string::npos);
  EXPECT_EQ(page.find("http://"), page.find("http://www.w3.org/2000/svg")) << "it must load nothing";
}

class Regressions : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Regressions, staysMended) {
  std::ifstream file{GetParam()};
  std::stringstream text;
  text << file.rdbuf();
  SimOptions options;
  ASSERT_EQ(readRegression(text.str(), options), "");
  ASSERT_NE(options.seed, 0U);
  if (options.store == StoreKind::dynamodb && !hasDynamoDb()) return;
  if (options.store == StoreKind::etcd && !hasEtcd()) return;
  if (options.store == StoreKind::kubernetes && !hasKubernetes()) return;
  for (const Violation& v : simulate(options).violations) ADD_FAILURE() << v.oracle << ": " << v.text;
}

std::vector<std::filesystem::path> regressionFiles() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator{TENURE_REGRESSIONS}) {
    if (entry.path().extension() == ".sim") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

INSTANTIATE_TEST_SUITE_P(Simulation, Regressions, testing::ValuesIn(regressionFiles()),
                         [](const auto& file) { return file.param.stem().string(); });

TEST(SimulationFiles, areReadBackAsWritten) {
  SimOptions options{.seed = 77, .mode = SimMode::liveness, .store = StoreKind::memory, .candidates = 3, .leases = 9};
  options.allowed = FaultSet{}.set(static_cast<std::size_t>(FaultKind::crash));
  SimOptions again;
  EXPECT_EQ(readRegression(regressionText(options, "why"), again), "");
  EXPECT_TRUE(again == options);
  EXPECT_EQ(readRegression("seed = 1\nfaults = crash,typhoon\n", again), "line 2: unknown fault \"typhoon\"");
  EXPECT_EQ(readRegression("sead = 1\n", again), "line 1: not understood: sead = 1");
}

TEST(SimulationFaults, listsAreReadBackAsWritten) {
  std::string unknown;
  for (const char* list : {"all", "none", "crash,pause", "all-foreign-crash"}) {
    const auto set = faultsFrom(list, unknown);
    ASSERT_TRUE(set) << list;
    EXPECT_EQ(faultsFrom(toString(*set), unknown), set) << list;
  }
  EXPECT_EQ(faultsFrom("all-foreign-crash", unknown)->count(), faultKinds - 2);
}

TEST(SimulationMutants, areFoundByTheirNamesAndNameKnownFaults) {
  std::string unknown;
  for (const MutantInfo& info : mutantTable()) {
    EXPECT_EQ(mutantNamed(info.name), &info) << info.name;
    EXPECT_TRUE(faultsFrom(info.faults, unknown)) << info.name << ": " << unknown;
  }
  EXPECT_EQ(mutantNamed("none"), nullptr);
}

}  // namespace
}  // namespace tenure::test
