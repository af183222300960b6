// The rules of a policy's values, and the pauses between attempts.
#include <gtest/gtest.h>

#include <tenure/jobs/schedule.hpp>

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> faultyFields(const JobPolicy& policy) {
  std::vector<std::string> fields;
  const OptionFaults faults = faultsOf(policy);
  for (const OptionFault& fault : faults) {
    EXPECT_FALSE(fault.message.empty());
    EXPECT_TRUE(fault.outOfOwnRange);
    fields.push_back(fault.field);
  }
  return fields;
}

using FaultyFields = std::vector<std::string>;

TEST(JobPolicy, TheDefaultsAreSound) {
  EXPECT_EQ(faultyFields({}), FaultyFields{});
  EXPECT_EQ(JobPolicy{}.guarantee, Guarantee::atMostOnce);
  EXPECT_EQ(JobPolicy{}.missed, Missed::once);
}

TEST(JobPolicy, NamesAllFaultsTogether) {
  EXPECT_EQ(faultyFields({.lateBy = 999ms, .mostMissed = 0, .mostAttempts = 0, .backoff = -1ms}),
            (FaultyFields{"lateBy", "mostMissed", "mostAttempts", "backoff"}));
  EXPECT_EQ(faultyFields({.lateBy = 366 * 24h + 1ms, .mostMissed = 1001, .mostAttempts = 1001, .backoff = 5min + 1ms}),
            (FaultyFields{"lateBy", "mostMissed", "mostAttempts", "backoff"}));
  EXPECT_EQ(faultyFields({.lateBy = 366 * 24h, .mostMissed = 1000, .mostAttempts = 1000, .backoff = 5min}),
            FaultyFields{});
  EXPECT_EQ(faultyFields({.lateBy = 1s, .mostMissed = 1, .mostAttempts = 1, .backoff = 0ms}), FaultyFields{});
}

TEST(JobPolicy, APauseDoublesUpToFiveMinutes) {
  const JobPolicy policy{.backoff = 2s};
  EXPECT_EQ(pauseBefore(policy, 1), 0s);
  EXPECT_EQ(pauseBefore(policy, 2), 2s);
  EXPECT_EQ(pauseBefore(policy, 3), 4s);
  EXPECT_EQ(pauseBefore(policy, 9), 256s);
  EXPECT_EQ(pauseBefore(policy, 10), 5min);
  EXPECT_EQ(pauseBefore(policy, 4'000'000'000), 5min);
  EXPECT_EQ(pauseBefore({.backoff = 0ms}, 4'000'000'000), 0ms);
}

}  // namespace
}  // namespace tenure::test
