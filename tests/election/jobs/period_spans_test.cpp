// The bounded set of begun periods: what it joins, which gap it closes, what it forgets.
#include "election/jobs/src/period_spans.hpp"

#include <gtest/gtest.h>

#include "job_times.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;
using std::chrono::sys_seconds;

class PeriodSpansTest : public testing::Test {
 protected:
  static sys_seconds day(int number) { return sys_seconds{} + days{10'000 + number}; }
  static PeriodSpan from(int first, int last) { return {day(first), day(last)}; }
  void add(int number) { addPeriod(spans, day(number), daily); }
  /// Twelve single days, `apart` days from each to the next.
  void fill(int apart) {
    for (int i = 0; i < 12; ++i) add(i * apart);
    ASSERT_EQ(spans.size(), JobRuns::mostSpans);
  }
  [[nodiscard]] bool holds(int number) const { return holdsPeriod(spans, day(number)); }

  const Schedule daily = Schedule::every(24h).value();
  PeriodSpans spans;
};

TEST_F(PeriodSpansTest, JoinsWhatFollowsOrPrecedesDirectly) {
  add(5);
  add(6);
  add(4);
  EXPECT_EQ(spans, PeriodSpans{from(4, 6)});
  add(8);
  EXPECT_EQ(spans, (PeriodSpans{from(4, 6), from(8, 8)}));
  add(7);
  EXPECT_EQ(spans, PeriodSpans{from(4, 8)});
}

TEST_F(PeriodSpansTest, GoesByTheScheduleAndNotByTheTimeBetween) {
  const Schedule mondays = Schedule::cron("0 0 * * MON").value();
  addPeriod(spans, instant("2026-11-16T00:00Z"), mondays);
  addPeriod(spans, instant("2026-11-23T00:00Z"), mondays);
  EXPECT_EQ(spans.size(), 1U);
  addPeriod(spans, instant("2026-11-24T00:00Z"), daily);
  EXPECT_EQ(spans.size(), 1U) << "of a new schedule, and directly behind";
  addPeriod(spans, instant("2026-11-26T00:00Z"), daily);
  EXPECT_EQ(spans.size(), 2U);
}

TEST_F(PeriodSpansTest, TheGapOfARemovedPeriodStaysOpenEvenIfItIsTheEarliest) {
  fill(3);
  spans.front() = from(0, 2);
  removePeriod(spans, day(1));
  EXPECT_EQ(spans.size(), JobRuns::mostSpans);
  EXPECT_FALSE(holds(1));
  EXPECT_TRUE(holds(0) && holds(2));
}

TEST_F(PeriodSpansTest, ANewScheduleMayJoinAcrossTheNamesOfTheOldOne) {
  add(1);
  add(3);
  add(5);
  const Schedule weekly = Schedule::every(168h).value();
  const sys_seconds next = weekly.after(day(5));
  addPeriod(spans, next, weekly);
  EXPECT_TRUE(holdsPeriod(spans, next));
  EXPECT_TRUE(holds(1) && holds(3) && holds(5));
}

TEST_F(PeriodSpansTest, KnowsTheLatestPeriodBeforeATime) {
  EXPECT_EQ(latestBefore(spans, day(5)), std::nullopt);
  spans = {from(10, 12), from(1, 3)};
  EXPECT_EQ(latestBefore(spans, day(1)), std::nullopt);
  EXPECT_EQ(latestBefore(spans, day(5)), day(3));
  EXPECT_EQ(latestBefore(spans, day(20)), day(12));
}

TEST_F(PeriodSpansTest, ClosesTheEarliestShortGapBeforeThePeriod) {
  fill(3);
  add(36);
  EXPECT_EQ(spans.size(), JobRuns::mostSpans);
  EXPECT_TRUE(holds(1) && holds(2)) << "they count as missed";
  EXPECT_FALSE(holds(4));
  for (int i = 0; i <= 12; ++i) EXPECT_TRUE(holds(i * 3)) << i;
}

TEST_F(PeriodSpansTest, LeavesTheGapInWhichPeriodsAreYetToCome) {
  fill(3);  // up to day 33
  spans.erase(spans.begin());
  add(55);  // a clock that is three weeks ahead
  add(35);  // and corrected
  EXPECT_EQ(spans.size(), JobRuns::mostSpans);
  EXPECT_TRUE(holds(4)) << "an early gap is closed";
  EXPECT_FALSE(holds(40));
}

TEST_F(PeriodSpansTest, ClosesAGapAfterThePeriodOnlyIfThereIsNoneBefore) {
  fill(3);
  add(-1000);
  EXPECT_EQ(spans.size(), JobRuns::mostSpans);
  EXPECT_TRUE(holds(-1000));
  EXPECT_FALSE(holds(1));
  EXPECT_TRUE(holds(31) && holds(32)) << "the latest one";
}

TEST_F(PeriodSpansTest, NeverClosesAGapOfMoreThanThirtyDays) {
  fill(31);
  add(0);  // is there already, so day 31 is now the one that was begun the longest time ago
  add(12 * 31);
  EXPECT_EQ(spans.size(), JobRuns::mostSpans);
  EXPECT_FALSE(holds(31)) << "forgotten";
  EXPECT_TRUE(holds(0));
  EXPECT_FALSE(holds(32));
  EXPECT_TRUE(holds(12 * 31));
}

TEST_F(PeriodSpansTest, ClosesAGapOfThirtyDays) {
  fill(30);
  add(12 * 30);
  for (int i = 0; i <= 12; ++i) EXPECT_TRUE(holds(i * 30)) << i;
  EXPECT_TRUE(holds(29));
}

TEST_F(PeriodSpansTest, RemovesOnePeriodAndNothingElse) {
  spans = {from(1, 9)};
  removePeriod(spans, day(5));
  EXPECT_FALSE(holds(5));
  EXPECT_TRUE(holds(4) && holds(6) && holds(1) && holds(9));
  add(5);
  EXPECT_EQ(spans, PeriodSpans{from(1, 9)});
  removePeriod(spans, day(1));
  removePeriod(spans, day(9));
  removePeriod(spans, day(20));
  EXPECT_FALSE(holds(1) || holds(9));
  EXPECT_TRUE(holds(2) && holds(8));
  spans = {from(3, 3)};
  removePeriod(spans, day(3));
  EXPECT_EQ(spans, PeriodSpans{});
}

TEST_F(PeriodSpansTest, TheGapOfARemovedPeriodStaysOpen) {
  fill(3);
  add(34);  // the last span has two days
  ASSERT_EQ(spans.size(), JobRuns::mostSpans);
  spans.back() = from(33, 36);
  removePeriod(spans, day(35));
  EXPECT_EQ(spans.size(), JobRuns::mostSpans);
  EXPECT_FALSE(holds(35));
  EXPECT_TRUE(holds(34) && holds(36));
}

}  // namespace
}  // namespace tenure::test
