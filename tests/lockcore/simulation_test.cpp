// The machine under all faults at once, by the thousand (I1, I2, I3, I5, I7, I8, I9, I10 and liveness; faults T1 to
// T13).
//
//   TENURE_SIM_SEEDS=100000 lockcore_test --gtest_filter='Simulation.*'    more seeds
//   TENURE_SIM_SEED=42 lockcore_test --gtest_filter='Simulation.replay*'   one seed with its trace
#include "lockcore/simulation/simulation.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>

#include <gtest/gtest.h>

namespace tenure::test {
namespace {

std::uint64_t seedsToRun() {
  if (const char* text = std::getenv("TENURE_SIM_SEEDS")) return std::strtoull(text, nullptr, 10);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 150;
#else
  return 1500;
#endif
}

/// The end of the trace: what led to the first violation.
std::string failureReport(const SimReport& report, std::uint64_t seed) {
  std::string out = "seed " + std::to_string(seed) + ":\n";
  for (const std::string& v : report.violations) out += "  " + v + '\n';
  const std::string trace = simulate({.seed = seed, .trace = true}).trace;
  constexpr std::size_t most = 6000;
  const std::size_t at = report.violations.front().find(" at ");
  const std::string when = report.violations.front().substr(at == std::string::npos ? 0 : at + 4);
  const std::size_t found = trace.find('\n' + when.substr(0, when.find(' ')) + ' ');
  const std::size_t end = found == std::string::npos ? trace.size() : std::min(trace.size(), found + 1000);
  return out + "trace:\n" + trace.substr(end > most ? end - most : 0, std::min(end, most));
}

TEST(Simulation, holdsEveryInvariantUnderEveryFault) {
  std::map<std::string, std::uint64_t> met;
  for (std::uint64_t seed = 1; seed <= seedsToRun(); ++seed) {
    const SimReport report = simulate({.seed = seed});
    for (const auto& [what, times] : report.counts) met[what] += times;
    ASSERT_TRUE(report.violations.empty()) << failureReport(report, seed);
  }
  for (const auto& [what, times] : met) RecordProperty(what, std::to_string(times));
  // The run was not blind: each of these was met.
  for (const char* what : {"elected", "applied", "conflict", "unknown", "release", "pause", "suspend", "crash",
                           "outage", "record deleted", "revoked expired", "revoked storeUnreachable", "revoked lost",
                           "revoked recordMissing", "revoked steppedDown", "revoked stopped", "revoked fatal"}) {
    EXPECT_GE(met[what], std::max<std::uint64_t>(20U * seedsToRun() / 1500, 1)) << what;
  }
}

TEST(Simulation, theSameSeedDoesTheSame) {
  std::set<std::uint64_t> digests;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const SimReport first = simulate({.seed = seed});
    const SimReport second = simulate({.seed = seed, .trace = true});
    EXPECT_EQ(first.digest, second.digest);
    digests.insert(first.digest);
  }
  EXPECT_EQ(digests.size(), 20U);
}

/// The checks see a broken world. That they see a broken machine is shown by breaking its source.
TEST(Simulation, seesABrokenStore) {
  const auto firstSeedThatFails = [](Sabotage sabotage) -> std::uint64_t {
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
      if (!simulate({.seed = seed, .sabotage = sabotage}).violations.empty()) return seed;
    }
    return 0;
  };
  for (const Sabotage sabotage : {Sabotage::noCondition, Sabotage::noRenewCondition, Sabotage::tokenRestarts}) {
    const std::uint64_t seed = firstSeedThatFails(sabotage);
    EXPECT_GT(seed, 0U) << "sabotage " << static_cast<int>(sabotage) << " was not seen";
    RecordProperty("sabotage" + std::to_string(static_cast<int>(sabotage)), std::to_string(seed));
  }
}

TEST(Simulation, replayOfOneSeed) {
  const char* text = std::getenv("TENURE_SIM_SEED");
  const std::uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
  const SimReport report = simulate({.seed = seed, .trace = true});
  if (text != nullptr) std::cout << report.trace;
  EXPECT_FALSE(report.trace.empty());
  for (const std::string& v : report.violations) ADD_FAILURE() << v;
}

}  // namespace
}  // namespace tenure::test
