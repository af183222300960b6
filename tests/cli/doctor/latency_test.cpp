// Which lease bears which latency.
#include "cli/doctor/latency.hpp"

#include <gtest/gtest.h>

#include "lockcore/lease/renewal_time.hpp"

namespace tenure::cli::doctor {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

LeaseTiming timing(milliseconds duration) { return LeaseTiming::from({.duration = duration}).value(); }

TEST(Latency, PercentilesAreTimesThatWereMeasured) {
  Latencies latencies;
  for (int i = 200; i > 0; --i) latencies.answered.push_back(milliseconds{i});
  const auto summary = summaryOf(latencies);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->count, 200U);
  EXPECT_EQ(summary->p50, 100ms);
  EXPECT_EQ(summary->p99, 198ms);
  EXPECT_EQ(summary->most, 200ms);
  EXPECT_EQ(summaryOf({.answered = {7ms}})->p99, 7ms);
  EXPECT_FALSE(summaryOf({.failed = 3}));
}

/// Counted step by step as a holder does it: the first renewal is lost, and the second takes as long as it may.
TEST(Latency, LeadershipOutlivesOneLostRenewalAndASlowSecondOne) {
  for (const milliseconds duration : {100ms, 1000ms, 2000ms, 10'000ms, 600'000ms}) {
    const LeaseTiming lease = timing(duration);
    const nanoseconds slow = bearable(lease);
    nanoseconds at = lease.heartbeat();
    at += renewalTimeout(lease.heartbeat(), lease.leadsFor() - at);
    at += leastRetryWait(lease.heartbeat());
    EXPECT_LE(slow, renewalTimeout(lease.heartbeat(), lease.leadsFor() - at)) << duration.count();
    EXPECT_LE(at + slow, lease.leadsFor()) << duration.count();
    EXPECT_GT(slow, duration / 10) << duration.count();
  }
}

TEST(Latency, TheShortestLeaseBearsItAndAShorterOneDoesNot) {
  for (const nanoseconds latency : {nanoseconds{40us}, nanoseconds{20ms}, nanoseconds{250ms}, nanoseconds{3s}}) {
    const auto shortest = shortestLease(latency);
    ASSERT_TRUE(shortest);
    EXPECT_GE(bearable(timing(*shortest)), latency);
    if (*shortest == minLeaseDuration) continue;
    EXPECT_LT(bearable(timing(*shortest - 1ms)), latency);
  }
  EXPECT_EQ(shortestLease(40us), minLeaseDuration);
  EXPECT_FALSE(shortestLease(24h));
}

}  // namespace
}  // namespace tenure::cli::doctor
