// Which lease bears which latency.
#include "cli/doctor/latency.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

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

/// How long an outage that begins when a renewal is due may last, if calls hang, whatever the pauses between them are:
/// each is between half and the whole of what it may be.
nanoseconds survived(const LeaseTiming& lease) {
  nanoseconds least = nanoseconds::max();
  for (const int quarters : {2, 3, 4}) {
    nanoseconds at = lease.heartbeat(), last = at;
    for (int failures = 0; lease.leadsFor() - at > 4ms; failures = std::min(failures + 1, 4)) {
      last = at;
      at += renewalTimeout(lease.heartbeat(), lease.leadsFor() - at);
      const nanoseconds longest =
          std::min<nanoseconds>(lease.heartbeat() / 16 * (1 << failures), (lease.leadsFor() - at) / 4);
      at += std::max(longest * quarters / 4, leastRetryWait(lease.heartbeat()));
    }
    least = std::min(least, last - lease.heartbeat());
  }
  return least;
}

/// As std::stod, whatever the locale of the process is.
double number(const std::string& text) {
  double value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

TEST(Latency, TheTableOfLeasesOnThePageIsWhatTheRulesGive) {
  // | lease | replaced after | slowest call | store outage survived | writes a day | cost |
  const std::regex row{
      R"(\| \**(\d+) s\** \| ([\d.]+) to (\d+) s \| ([\d.]+) s \| ([\d.]+) s \| ([\d,]+) \| \$([\d.]+) \+ \$([\d.]+) \|)"};
  std::ifstream page{std::filesystem::path{TENURE_SOURCE_DIR} / "docs/sizing.md"};
  int rows = 0;
  std::smatch cell;
  for (std::string line; std::getline(page, line);) {
    if (!std::regex_match(line, cell, row)) continue;
    ++rows;
    const LeaseTiming lease = timing(std::chrono::seconds{std::stoi(cell[1])});
    const auto seconds = [](nanoseconds time) { return std::chrono::duration<double>{time}.count(); };
    const double writes = 86'400 / (seconds(lease.duration()) / 3);
    EXPECT_NEAR(number(cell[2]), seconds(lease.duration() - lease.heartbeat()), 0.051) << line;
    EXPECT_EQ(cell[3], cell[1]) << line;
    EXPECT_LE(number(cell[4]), seconds(bearable(lease))) << line;
    EXPECT_GT(number(cell[4]) * 1.05, seconds(bearable(lease))) << line;
    EXPECT_LE(number(cell[5]), seconds(survived(lease))) << line;
    EXPECT_GT(number(cell[5]) * 1.07, seconds(survived(lease))) << line;
    std::string count = cell[6];
    std::erase(count, ',');
    EXPECT_EQ(number(count), writes) << line;
    EXPECT_NEAR(number(cell[7]), writes * 30 * 0.625e-6, 0.0051) << line;
    EXPECT_NEAR(number(cell[8]), writes * 30 * 0.125e-6, 0.0051) << line;
    // The two rules of the page: eight times the slowest call, twice the longest outage.
    EXPECT_GE(8 * bearable(lease), lease.duration()) << line;
    EXPECT_GE(2 * survived(lease), lease.duration()) << line;
  }
  EXPECT_EQ(rows, 6);
}

}  // namespace
}  // namespace tenure::cli::doctor
