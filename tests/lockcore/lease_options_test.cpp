#include <limits>
#include <set>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <tenure/lockcore/lease_options.hpp>

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

OptionFaults faultsOf(const LeaseOptions& options) {
  const auto timing = LeaseTiming::from(options);
  return timing ? OptionFaults{} : timing.error();
}

std::multiset<std::string> keysOf(const OptionFaults& faults) {
  std::multiset<std::string> keys;
  for (const OptionFault& fault : faults) keys.insert(fault.field);
  return keys;
}

using Keys = std::multiset<std::string>;

TEST(LeaseTimingTest, defaultsFollowFromTheDuration) {
  const LeaseTiming timing = LeaseTiming::from({}).value();
  EXPECT_EQ(timing.duration(), 10s);
  EXPECT_EQ(timing.heartbeat(), 3333ms);
  EXPECT_EQ(timing.clockMargin(), 11ms);
  EXPECT_EQ(timing.stopMargin(), 1s);
  EXPECT_EQ(timing.drainTimeout(), 10s);
  EXPECT_EQ(timing.progressTimeout(), std::nullopt);
  EXPECT_EQ(timing.validFor(), 9989ms);
  EXPECT_EQ(timing.leadsFor(), 8989ms);
}

TEST(LeaseTimingTest, theShortestAndTheLongestLeaseHaveDefaultsThatFit) {
  const LeaseTiming shortest = LeaseTiming::from({.duration = minLeaseDuration}).value();
  EXPECT_EQ(shortest.heartbeat(), 33ms);
  EXPECT_EQ(shortest.clockMargin(), 2ms) << "0.1 % is rounded up";
  EXPECT_EQ(shortest.stopMargin(), 10ms);
  const LeaseTiming longest = LeaseTiming::from({.duration = maxLeaseDuration}).value();
  EXPECT_EQ(longest.heartbeat(), 8h);
  EXPECT_EQ(longest.clockMargin(), 86'401ms);
}

TEST(LeaseTimingTest, whatIsSetIsTaken) {
  const LeaseTiming timing = LeaseTiming::from({.duration = 4s,
                                                .heartbeat = 1s,
                                                .clockMargin = 500ms,
                                                .stopMargin = 700ms,
                                                .drainTimeout = 0ms,
                                                .progressTimeout = 1s})
                                 .value();
  EXPECT_EQ(timing.duration(), 4s);
  EXPECT_EQ(timing.heartbeat(), 1s);
  EXPECT_EQ(timing.clockMargin(), 500ms);
  EXPECT_EQ(timing.stopMargin(), 700ms);
  EXPECT_EQ(timing.drainTimeout(), 0ms);
  EXPECT_EQ(timing.progressTimeout(), 1s);
  EXPECT_EQ(timing.leadsFor(), 2800ms);
}

struct Row {
  const char* field;
  LeaseOptions good;
  LeaseOptions bad;
  const char* message;
  bool outOfOwnRange{true};  ///< false: another duration or heartbeat would allow it
};

TEST(LeaseTimingTest, eachRangeEndsWhereItSays) {
  const Row rows[] = {
      {"lease.duration",
       {.duration = 100ms},
       {.duration = 99ms},
       "99ms is out of range; allowed is 100ms to 86400000ms"},
      {"lease.duration",
       {.duration = 24h},
       {.duration = 24h + 1ms},
       "86400001ms is out of range; allowed is 100ms to 86400000ms"},
      {"lease.heartbeat",
       {.heartbeat = 10ms},
       {.heartbeat = 9ms},
       "9ms is out of range; allowed is 10ms to 86400000ms"},
      {"lease.clockMargin",
       {.clockMargin = 0ms},
       {.clockMargin = -1ms},
       "-1ms is out of range; allowed is 0ms to 5000ms"},
      {"lease.clockMargin",
       {.heartbeat = 1s, .clockMargin = 5s},
       {.heartbeat = 1s, .clockMargin = 5001ms},
       "5001ms is out of range; allowed is 0ms to 5000ms",
       false},
      {"lease.stopMargin", {.stopMargin = 0ms}, {.stopMargin = -1ms}, "-1ms is out of range; allowed is 0ms to 5000ms"},
      {"lease.stopMargin",
       {.heartbeat = 1s, .stopMargin = 5s},
       {.heartbeat = 1s, .stopMargin = 5001ms},
       "5001ms is out of range; allowed is 0ms to 5000ms",
       false},
      {"lease.drainTimeout",
       {.drainTimeout = 0ms},
       {.drainTimeout = -1ms},
       "-1ms is out of range; allowed is 0ms to 86400000ms"},
      {"lease.drainTimeout",
       {.drainTimeout = 24h},
       {.drainTimeout = 24h + 1ms},
       "86400001ms is out of range; allowed is 0ms to 86400000ms"},
      {"lease.progressTimeout",
       {.progressTimeout = 3333ms},
       {.progressTimeout = 3332ms},
       "3332ms is out of range; allowed is 3333ms to 86400000ms",
       false},
      {"lease.progressTimeout",
       {.progressTimeout = 24h},
       {.progressTimeout = 24h + 1ms},
       "86400001ms is out of range; allowed is 3333ms to 86400000ms"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(faultsOf(row.good), OptionFaults{}) << row.field;
    EXPECT_EQ(faultsOf(row.bad), (OptionFaults{{row.field, row.message, row.outOfOwnRange}})) << row.field;
  }
}

TEST(LeaseTimingTest, oneRenewalMayFail) {
  LeaseOptions options{.duration = 10s, .heartbeat = 4s, .clockMargin = 1s, .stopMargin = 1s};
  EXPECT_EQ(faultsOf(options), OptionFaults{});
  options.heartbeat = 4001ms;
  EXPECT_EQ(
      faultsOf(options),
      (OptionFaults{{"lease.heartbeat",
                     "two heartbeats of 4001ms, the clock margin of 1000ms and the stop margin of 1000ms make 10002ms, "
                     "more than the lease duration of 10000ms, so that one failed renewal would end leadership; "
                     "shorten the heartbeat or lengthen lease.duration"}}));
}

TEST(LeaseTimingTest, independentFaultsAreToldTogether) {
  EXPECT_EQ(
      keysOf(faultsOf(
          {.heartbeat = 9ms, .clockMargin = 6s, .stopMargin = -1ms, .drainTimeout = -1ms, .progressTimeout = 9ms})),
      (Keys{"lease.drainTimeout", "lease.clockMargin", "lease.heartbeat", "lease.progressTimeout",
            "lease.stopMargin"}));
  EXPECT_EQ(keysOf(faultsOf({.duration = 99ms,
                             .heartbeat = 9ms,
                             .clockMargin = -1ms,
                             .stopMargin = -1ms,
                             .drainTimeout = 25h,
                             .progressTimeout = 9ms})),
            (Keys{"lease.drainTimeout", "lease.duration", "lease.clockMargin", "lease.heartbeat",
                  "lease.progressTimeout", "lease.stopMargin"}));
  // A guard that is too long for the lease and also too long for the heartbeats counts as two faults.
  EXPECT_EQ(keysOf(faultsOf({.duration = 2s, .heartbeat = 500ms, .clockMargin = 1500ms})),
            (Keys{"lease.clockMargin", "lease.heartbeat"}));
}

TEST(LeaseTimingTest, aSenselessDurationIsNotBlamedOnOthers) {
  for (const milliseconds duration : {0ms, -5ms, milliseconds{25h}, milliseconds::min(), milliseconds::max()}) {
    EXPECT_EQ(keysOf(faultsOf({.duration = duration})), Keys{"lease.duration"});
    EXPECT_EQ(
        keysOf(faultsOf(
            {.duration = duration, .heartbeat = 1s, .clockMargin = 1s, .stopMargin = 1s, .progressTimeout = 10ms})),
        (Keys{"lease.duration", "lease.progressTimeout"}))
        << "less than the heartbeat";
    EXPECT_EQ(keysOf(faultsOf({.duration = duration, .progressTimeout = 10ms})), Keys{"lease.duration"});
  }
}

TEST(LeaseTimingTest, numbersThatDoNotAddUpAreOnlyOutOfRange) {
  for (const milliseconds wild : {milliseconds::min(), milliseconds::max()}) {
    EXPECT_EQ(keysOf(faultsOf({.heartbeat = wild,
                               .clockMargin = wild,
                               .stopMargin = wild,
                               .drainTimeout = wild,
                               .progressTimeout = wild})),
              (Keys{"lease.drainTimeout", "lease.clockMargin", "lease.heartbeat", "lease.progressTimeout",
                    "lease.stopMargin"}));
    EXPECT_EQ(keysOf(faultsOf({.clockMargin = wild, .stopMargin = wild})),
              (Keys{"lease.clockMargin", "lease.stopMargin"}));
  }
}

TEST(LeaseTimingTest, valueThrowsAllFaults) {
  const auto wrong = LeaseTiming::from({.heartbeat = 9ms, .drainTimeout = -1ms});
  try {
    static_cast<void>(wrong.value());
    FAIL() << "a timing with faults";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "lease.heartbeat: 9ms is out of range; allowed is 10ms to 86400000ms\n"
                 "lease.drainTimeout: -1ms is out of range; allowed is 0ms to 86400000ms");
  }
}

}  // namespace
}  // namespace tenure::test
