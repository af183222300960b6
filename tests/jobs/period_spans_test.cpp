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
  void add(int number) { addPeriods(spans, {day(number), day(number)}, daily); }
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
  addPeriods(spans, {instant("2026-11-16T00:00Z"), instant("2026-11-16T00:00Z")}, mondays);
  addPeriods(spans, {instant("2026-11-23T00:00Z"), instant("2026-11-23T00:00Z")}, mondays);
  EXPECT_EQ(spans.size(), 1U);
  addPeriods(spans, {instant("2026-11-24T00:00Z"), instant("2026-11-24T00:00Z")}, daily);
  EXPECT_EQ(spans.size(), 1U) << "of a new schedule, and directly behind";
  addPeriods(spans, {instant("2026-11-26T00:00Z"), instant("2026-11-26T00:00Z")}, daily);
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
  addPeriods(spans, {next, next}, weekly);
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

TEST_F(PeriodSpansTest, ClosesTheShortestGapBeforeThePeriod) {
  fill(5);
  add(58);  // a gap of three days, and of five before
  EXPECT_EQ(spans.size(), JobRuns::mostSpans);
  EXPECT_TRUE(holds(56) && holds(57)) << "they count as missed";
  EXPECT_FALSE(holds(1));
  for (int i = 0; i <= 11; ++i) EXPECT_TRUE(holds(i * 5)) << i;
}

TEST_F(PeriodSpansTest, LeavesTheGapInWhichPeriodsAreYetToCome) {
  fill(5);  // up to day 55
  spans.erase(spans.begin());
  add(75);  // a clock that is three weeks ahead, with the longest gap
  add(85);  // and goes on so, with a gap of ten days
  add(88);
  EXPECT_EQ(spans.size(), JobRuns::mostSpans);
  add(57);  // corrected
  EXPECT_EQ(spans.size(), JobRuns::mostSpans);
  for (int i = 58; i <= 74; ++i) EXPECT_FALSE(holds(i)) << i;
}

TEST_F(PeriodSpansTest, ClosesTheShortestGapAfterThePeriodIfThereIsNoneBefore) {
  fill(5);
  add(57);
  ASSERT_TRUE(holds(56));
  add(67);
  ASSERT_EQ(spans.size(), JobRuns::mostSpans);
  add(-1000);
  EXPECT_EQ(spans.size(), JobRuns::mostSpans);
  EXPECT_TRUE(holds(-1000));
  EXPECT_FALSE(holds(-1) || holds(60)) << "long ones";
}

TEST_F(PeriodSpansTest, NeverClosesAGapOfMoreThan180Days) {
  fill(181);
  add(0);  // is there already, so day 181 is now the one that was begun the longest time ago
  add(12 * 181);
  EXPECT_EQ(spans.size(), JobRuns::mostSpans);
  EXPECT_FALSE(holds(181)) << "forgotten";
  EXPECT_TRUE(holds(0));
  EXPECT_FALSE(holds(182));
  EXPECT_TRUE(holds(12 * 181));
}

TEST_F(PeriodSpansTest, ClosesAGapOf180DaysBeforeItForgets) {
  fill(180);
  add(12 * 180);
  for (int i = 0; i <= 12; ++i) EXPECT_TRUE(holds(i * 180)) << i;
  EXPECT_TRUE(holds(179));
  EXPECT_FALSE(holds(181)) << "of gaps of one length, the earliest";
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
  EXPECT_EQ(spans, (PeriodSpans{{day(3) - 1s, day(3) - 1s}})) << "so that it counts as missed";
  add(3);
  removePeriod(spans, day(3));
  EXPECT_EQ(spans, (PeriodSpans{{day(3) - 1s, day(3) - 1s}}));
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
