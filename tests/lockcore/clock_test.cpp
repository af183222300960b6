// The clock rule: a holder never counts less time than passed, a challenger never more.
#include <gtest/gtest.h>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr Instant clockStart{1h, 2h, 3h};

struct Row {
  const char* what;
  Instant passed;  // on each clock
  nanoseconds holder;
  nanoseconds challenger;
};

// Ten seconds by CLOCK_MONOTONIC_RAW; slew and suspend act on the other two.
constexpr Row rows[] = {
    {"nothing passed", {0ns, 0ns, 0ns}, 0ns, 0ns},
    {"true clocks", {10s, 10s, 10s}, 10s, 10s},
    {"slewed to be faster", {10s, 10'830ms, 10'830ms}, 10'830ms, 10s},
    {"slewed to be slower", {10s, 9'170ms, 9'170ms}, 10s, 9'170ms},
    {"suspended for a minute", {10s, 10s, 70s}, 70s, 10s},
    {"suspended and slewed to be faster", {10s, 11s, 71s}, 71s, 10s},
    {"suspended and slewed to be slower", {10s, 9s, 69s}, 70s, 9s},
    {"only suspended", {0ns, 0ns, 60s}, 60s, 0ns},
    {"only the unslewed clock moved", {1ns, 0ns, 0ns}, 1ns, 0ns},
    {"backwards", {-10s, -10s, -10s}, -10s, -10s},
};

TEST(ClockRule, holdsUnderSlewAndSuspend) {
  for (const Row& row : rows) {
    const Instant end{clockStart.raw + row.passed.raw, clockStart.monotonic + row.passed.monotonic,
                      clockStart.boottime + row.passed.boottime};
    EXPECT_EQ(elapsedForHolder(clockStart, end), row.holder) << row.what;
    EXPECT_EQ(elapsedForChallenger(clockStart, end), row.challenger) << row.what;
    EXPECT_GE(row.holder, row.challenger) << row.what;
  }
}

TEST(ClockRule, aLaterMomentIsLaterOnAllClocks) {
  const Instant later = clockStart + 5s;
  EXPECT_EQ(later, (Instant{1h + 5s, 2h + 5s, 3h + 5s}));
  EXPECT_EQ(elapsedForHolder(clockStart, later), 5s);
  EXPECT_EQ(elapsedForChallenger(clockStart, later), 5s);
}

TEST(ReadClock, neverGoesBack) {
  Instant last = readClock();
  EXPECT_GT(last.raw, 0ns);
  for (int i = 0; i < 10'000; ++i) {
    const Instant now = readClock();
    ASSERT_GE(now.raw, last.raw);
    ASSERT_GE(now.monotonic, last.monotonic);
    ASSERT_GE(now.boottime, last.boottime);
    last = now;
  }
}

TEST(ReadClock, wallClockIsOfThisCentury) {
  EXPECT_GT(wallClockMillisForDisplay(), 1'700'000'000'000);
  EXPECT_LT(wallClockMillisForDisplay(), 7'000'000'000'000);
}

TEST(CallDeadlineOfTheShortestTime, hasPassed) {
  const CallDeadline deadline{systemClock(), nanoseconds::min()};
  EXPECT_TRUE(deadline.passed());
  EXPECT_LE(deadline.left(), 0ns);
}

TEST(WallClockText, isUtcWithMilliseconds) {
  EXPECT_EQ(wallClockTextForDisplay(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(wallClockTextForDisplay(7), "1970-01-01T00:00:00.007Z");
  EXPECT_EQ(wallClockTextForDisplay(1'000'000'000'123), "2001-09-09T01:46:40.123Z");
  EXPECT_EQ(wallClockTextForDisplay(951'782'400'000), "2000-02-29T00:00:00.000Z");
  EXPECT_EQ(wallClockTextForDisplay(4'102'444'799'999), "2099-12-31T23:59:59.999Z");
}

TEST(WallClockText, countsBackBefore1970) {
  EXPECT_EQ(wallClockTextForDisplay(-1), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(wallClockTextForDisplay(-1000), "1969-12-31T23:59:59.000Z");
  EXPECT_EQ(wallClockTextForDisplay(-1001), "1969-12-31T23:59:58.999Z");
}

}  // namespace
}  // namespace tenure::test
