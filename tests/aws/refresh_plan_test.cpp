#include "lockcore/aws/refresh_plan.hpp"

#include <set>

#include <gtest/gtest.h>

#include <support/seeded_random.hpp>

namespace tenure::aws {
namespace {

using namespace std::chrono_literals;

TEST(RefreshPlan, refreshesWellAheadAndNotAllAtOnce) {
  tenure::test::SeededRandom random{1};
  std::set<std::int64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const auto hour = refreshAfter(1h, random);
    EXPECT_LE(hour, 45min);
    EXPECT_GE(hour, 45min - 225s);
    seen.insert(hour.count());
    const auto second = refreshAfter(1s, random);
    EXPECT_LE(second, 500ms);
    EXPECT_GE(second, 375ms);
  }
  EXPECT_GT(seen.size(), 900U);
}

TEST(RefreshPlan, anExtensionEndsAfterSomeFurtherAttempts) {
  tenure::test::SeededRandom random{4};
  for (int i = 0; i < 1000; ++i) {
    EXPECT_GE(refreshAfter(extension, random), 5min);
    EXPECT_LE(refreshAfter(extension, random), 10min);
  }
}

TEST(RefreshPlan, usesCredentialsAlmostToTheirEnd) {
  EXPECT_EQ(usableFor(1h), 1h - 10s);
  EXPECT_EQ(usableFor(10s), 9s);
  EXPECT_EQ(usableFor(0s), 0s);
}

TEST(RefreshPlan, noLifetimeIsTooLong) {
  tenure::test::SeededRandom random{3};
  constexpr std::chrono::seconds fits{9'223'372'036};  // in nanoseconds; one more does not
  for (const auto lifetime :
       {fits - 1s, fits, fits + 1s, std::chrono::seconds{251'635'161'599}, std::chrono::seconds::max()}) {
    EXPECT_GE(usableFor(lifetime), fits - 12s) << lifetime.count();
    EXPECT_GE(refreshAfter(lifetime, random), fits - 20min) << lifetime.count();
    EXPECT_LT(refreshAfter(lifetime, random), usableFor(lifetime)) << lifetime.count();
  }
  EXPECT_LE(usableFor(-1s), 0s);
  EXPECT_LE(usableFor(std::chrono::seconds::min()), 0s);
}

TEST(RefreshPlan, retriesEverMoreSlowlyButInTimeForTheEnd) {
  tenure::test::SeededRandom random{2};
  for (int i = 0; i < 100; ++i) {
    EXPECT_GE(retryAfter(1, {}, random), 250ms);
    EXPECT_LE(retryAfter(1, {}, random), 500ms);
    EXPECT_GE(retryAfter(3, {}, random), 1s);
    EXPECT_LE(retryAfter(3, {}, random), 2s);
    EXPECT_LE(retryAfter(1000, {}, random), 10s);
    EXPECT_GE(retryAfter(1000, {}, random), 5s);
    EXPECT_LE(retryAfter(1000, 4s, random), 1s);
  }
}

}  // namespace
}  // namespace tenure::aws
