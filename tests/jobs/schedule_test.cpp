// When periods begin: lengths, crontab lines, and the days on which the clocks are put forward or back.
#include <gtest/gtest.h>

#include <tenure/jobs/schedule.hpp>

#include "job_times.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using Times = std::vector<std::string>;

Schedule cron(const std::string& expression, const std::string& zone = "UTC") {
  return Schedule::cron(expression, zone).value();
}

std::string faultOf(const std::string& expression, const std::string& zone = "UTC") {
  const auto schedule = Schedule::cron(expression, zone);
  if (schedule) return "none";
  std::string all;
  const OptionFaults faults = schedule.error();
  for (const OptionFault& fault : faults) all += fault.field + ": " + fault.message + '\n';
  return all;
}

std::string latest(const Schedule& schedule, const std::string& now) { return textOf(schedule.latestAt(instant(now))); }
std::string after(const Schedule& schedule, const std::string& now) { return textOf(schedule.after(instant(now))); }

TEST(ScheduleEvery, CountsMultiplesSince1970) {
  const Schedule day = Schedule::every(24h).value();
  EXPECT_EQ(latest(day, "2026-11-24T00:00Z"), "2026-11-24T00:00Z") << "the period begins with its first second";
  EXPECT_EQ(latest(day, "2026-11-24T23:59Z"), "2026-11-24T00:00Z");
  EXPECT_EQ(after(day, "2026-11-24T00:00Z"), "2026-11-25T00:00Z");
  EXPECT_EQ(latest(Schedule::every(168h).value(), "2026-11-24T12:00Z"), "2026-11-19T00:00Z") << "a Thursday";
  EXPECT_EQ(Schedule::every(7s)->latestAt(std::chrono::sys_seconds{700s + 6s}).time_since_epoch(), 700s);
  EXPECT_EQ(day.text(), "every 86400 s");
}

TEST(ScheduleEvery, RefusesWhatIsNoLengthOfAPeriod) {
  for (const auto length : {0ms, -1000ms, 999ms, std::chrono::milliseconds{366 * 24h + 1s}, 1500ms}) {
    const auto schedule = Schedule::every(length);
    ASSERT_FALSE(schedule) << length.count();
    EXPECT_EQ(schedule.error().front().field, "every");
    EXPECT_TRUE(schedule.error().front().outOfOwnRange);
  }
  EXPECT_TRUE(Schedule::every(366 * 24h));
}

TEST(ScheduleCron, ReadsNumbersRangesStepsListsAndNames) {
  EXPECT_EQ(occurrences(cron("5,50-52 3 * * *"), "2026-11-24T00:00Z", "2026-11-25T00:00Z"),
            (Times{"2026-11-24T03:05Z", "2026-11-24T03:50Z", "2026-11-24T03:51Z", "2026-11-24T03:52Z"}));
  EXPECT_EQ(
      occurrences(cron("*/25 8-12/2 * * *"), "2026-11-24T08:00Z", "2026-11-24T11:00Z"),
      (Times{"2026-11-24T08:25Z", "2026-11-24T08:50Z", "2026-11-24T10:00Z", "2026-11-24T10:25Z", "2026-11-24T10:50Z"}));
  EXPECT_EQ(occurrences(cron(" 0\t0 1 jan,Jul  * "), "2026-01-01T00:00Z", "2027-06-01T00:00Z"),
            (Times{"2026-07-01T00:00Z", "2027-01-01T00:00Z"}));
}

TEST(ScheduleCron, SundayIsSevenAndZero) {
  const Times sundays{"2026-11-22T00:00Z", "2026-11-29T00:00Z"};
  for (const char* day : {"0", "7", "SUN", "sun", "7,0"})
    EXPECT_EQ(occurrences(cron(std::string{"0 0 * * "} + day), "2026-11-20T00:00Z", "2026-12-01T00:00Z"), sundays)
        << day;
  for (const char* three : {"5-7", "FRI-SUN", "FRI,SAT,SUN"})
    EXPECT_EQ(occurrences(cron(std::string{"0 0 * * "} + three), "2026-11-19T12:00Z", "2026-11-25T00:00Z"),
              (Times{"2026-11-20T00:00Z", "2026-11-21T00:00Z", "2026-11-22T00:00Z"}))
        << three;
}

TEST(ScheduleCron, ADayMatchesByEitherFieldIfBothAreRestricted) {
  EXPECT_EQ(occurrences(cron("0 0 13 * FRI"), "2026-11-05T12:00Z", "2026-11-21T00:00Z"),
            (Times{"2026-11-06T00:00Z", "2026-11-13T00:00Z", "2026-11-20T00:00Z"}));
  EXPECT_EQ(occurrences(cron("0 0 1 * FRI"), "2026-11-27T12:00Z", "2026-12-05T00:00Z"),
            (Times{"2026-12-01T00:00Z", "2026-12-04T00:00Z"}));
  EXPECT_EQ(occurrences(cron("0 0 */2 * MON"), "2026-11-01T12:00Z", "2026-12-01T00:00Z"),
            (Times{"2026-11-09T00:00Z", "2026-11-23T00:00Z"}))
      << "a field that begins with * restricts nothing by itself, so both must match: the odd days that are Mondays";
}

/// Seen with Debian's cron, which looks at the field's first character alone.
TEST(ScheduleCron, AStarLaterInAListRestrictsLikeANumber) {
  const auto daysOf = [](const char* expression) {
    return occurrences(cron(expression), "2027-01-01T12:00Z", "2027-01-08T00:00Z").size();
  };
  EXPECT_EQ(daysOf("0 0 5,* * MON"), 6U) << "every day, by the day of month";
  EXPECT_EQ(daysOf("0 0 1 * 3,*"), 6U) << "every day, by the day of the week";
  EXPECT_EQ(daysOf("0 0 *,5 * MON"), 1U) << "begins with *: Mondays";
  EXPECT_EQ(daysOf("0 0 1 * *,3"), 0U) << "begins with *: the first of the month";
  EXPECT_EQ(daysOf("0 0 1-31 * MON"), 6U) << "all numbers are no *";
  EXPECT_EQ(
      occurrences(cron("0 0 2-10/4,*/15 * MON"), "2027-01-01T12:00Z", "2027-01-12T00:00Z"),
      (Times{"2027-01-02T00:00Z", "2027-01-04T00:00Z", "2027-01-06T00:00Z", "2027-01-10T00:00Z", "2027-01-11T00:00Z"}));
}

TEST(ScheduleCron, HasTheUsualNicknames) {
  const auto first = [](const char* name) { return after(cron(name), "2026-11-24T10:30Z"); };
  EXPECT_EQ(first("@hourly"), "2026-11-24T11:00Z");
  EXPECT_EQ(first("@daily"), "2026-11-25T00:00Z");
  EXPECT_EQ(first("@midnight"), "2026-11-25T00:00Z");
  EXPECT_EQ(first("@weekly"), "2026-11-29T00:00Z");
  EXPECT_EQ(first("@monthly"), "2026-12-01T00:00Z");
  EXPECT_EQ(first("@yearly"), "2027-01-01T00:00Z");
  EXPECT_EQ(first("@annually"), "2027-01-01T00:00Z");
}

TEST(ScheduleCron, FindsRareDays) {
  EXPECT_EQ(latest(cron("0 0 29 2 *"), "2026-11-24T00:00Z"), "2024-02-29T00:00Z");
  EXPECT_EQ(after(cron("0 0 29 2 *"), "2096-02-29T00:00Z"), "2104-02-29T00:00Z") << "2100 is no leap year";
  EXPECT_EQ(after(cron("0 0 29 2 */7"), "2088-02-29T00:00Z"), "2128-02-29T00:00Z") << "a Sunday, 40 years later";
  EXPECT_EQ(latest(cron("0 0 29 2 */7"), "2128-02-28T23:59Z"), "2088-02-29T00:00Z");
  EXPECT_EQ(latest(cron("59 23 31 12 *", "Europe/Berlin"), "2026-12-31T22:58Z"), "2025-12-31T22:59Z");
}

TEST(ScheduleCron, RefusesWhatItDoesNotUnderstandAndSaysWhere) {
  EXPECT_EQ(
      faultOf("0 25 * * *"),
      "schedule: has \"25\" as hour, at character 3; allowed are 0 to 23, *, a range a-b, a step */n, a list a,b\n");
  EXPECT_EQ(faultOf("0 3 * *").substr(0, 41), "schedule: has 4 fields: \"0 3 * *\"; write ");
  EXPECT_EQ(faultOf("0 3 * * 1-2,MOON").substr(0, 54), "schedule: has \"MOON\" as day of week, at character 13; ");
  for (const char* bad : {"",
                          " ",
                          "@reboot",
                          "@",
                          "0 3 * * * *",
                          "60 3 * * *",
                          "-1 3 * * *",
                          "+1 3 * * *",
                          "0 3 0 * *",
                          "0 3 32 * *",
                          "0 3 * 13 *",
                          "0 3 * 0 *",
                          "0 3 * * 8",
                          "0 3 * JAN-13 *",
                          "0 3 * * JAN",
                          "5-1 3 * * *",
                          "0/5 3 * * *",
                          "*/0 3 * * *",
                          "*/61 3 * * *",
                          "*/x 3 * * *",
                          "*/ 3 * * *",
                          "1- 3 * * *",
                          "-5 3 * * *",
                          "1--5 3 * * *",
                          "1,,2 3 * * *",
                          ",1 3 * * *",
                          "1, 3 * * *",
                          "** 3 * * *",
                          "*-5 3 * * *",
                          "*/5/5 3 * * *",
                          "L 3 * * *",
                          "99999999999999999999 3 * * *",
                          "0 3 * * 6-0,8"})
    EXPECT_EQ(faultOf(bad).substr(0, 9), "schedule:") << bad;
}

TEST(ScheduleCron, RefusesWhatNeverMatches) {
  EXPECT_EQ(faultOf("0 0 30 2 *").substr(0, 23), "schedule: never matches");
  EXPECT_EQ(faultOf("0 0 31 4,6,9,11 *").substr(0, 23), "schedule: never matches");
  EXPECT_EQ(faultOf("0 0 30 2 MON"), "none") << "Mondays of February";
  EXPECT_EQ(faultOf("0 0 29 2 *"), "none");
}

TEST(ScheduleCron, RefusesZonesThatAreNotThere) {
  EXPECT_EQ(faultOf("0 3 * * *", "Europe/Berlin"), "none");
  for (const char* zone : {"", "Mars/Olympus", "europe/berlin ", "../../etc/passwd", "right/Europe/Berlin"})
    EXPECT_EQ(faultOf("0 3 * * *", zone).substr(0, 9), "timeZone:") << zone;
  const std::string both = faultOf("0 99 * * *", "Mars/Olympus");
  EXPECT_NE(both.find("schedule:"), std::string::npos) << both;
  EXPECT_NE(both.find("timeZone:"), std::string::npos) << both;
}

TEST(ScheduleCron, StaysInTheCalendarWhateverTheClockShows) {
  const Schedule nightly = cron("0 3 * * *", "Europe/Berlin");
  EXPECT_EQ(textOf(nightly.latestAt(std::chrono::sys_seconds::min())), "1969-12-31T02:00Z");
  EXPECT_EQ(textOf(nightly.latestAt(std::chrono::sys_seconds::max())), "9999-12-31T02:00Z");
  EXPECT_EQ(textOf(nightly.after(std::chrono::sys_seconds::max())), "10000-01-01T02:00Z");
  EXPECT_EQ(textOf(cron("0 0 29 2 */7").latestAt(std::chrono::sys_seconds::min())), "1948-02-29T00:00Z");
  EXPECT_EQ(Schedule::every(7s)->latestAt(std::chrono::sys_seconds::min()).time_since_epoch(), 0s);
}

TEST(ScheduleCron, InTheHourThatComesTwiceItsTimesHaveBeen) {
  const Schedule nightly = cron("50 2 * * *", "Europe/Berlin");
  EXPECT_EQ(latest(nightly, "2026-10-25T00:49Z"), "2026-10-24T00:50Z");
  EXPECT_EQ(latest(nightly, "2026-10-25T01:10Z"), "2026-10-25T00:50Z") << "it is 02:10 for the second time";
  EXPECT_EQ(after(nightly, "2026-10-25T01:10Z"), "2026-10-26T01:50Z");
}

struct ZoneCase {
  const char* name;
  const char* expression;
  const char* zone;
  const char* from;
  const char* to;
  Times expected;
};

class ScheduleZones : public testing::TestWithParam<ZoneCase> {};

// The expected times come from a walk with Python's zoneinfo, minute by minute.
TEST_P(ScheduleZones, OccursAsCronieHasIt) {
  const ZoneCase& at = GetParam();
  EXPECT_EQ(occurrences(cron(at.expression, at.zone), at.from, at.to), at.expected);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ScheduleZones,
    testing::Values(ZoneCase{"ATimeThatIsLeftOutIsAtTheChange",
                             "30 2 * * *",
                             "Europe/Berlin",
                             "2026-03-27T12:00Z",
                             "2026-03-31T00:00Z",
                             {"2026-03-28T01:30Z", "2026-03-29T01:00Z", "2026-03-30T00:30Z"}},
                    ZoneCase{"ATimeThatComesTwiceIsTheFirst",
                             "30 2 * * *",
                             "Europe/Berlin",
                             "2026-10-23T12:00Z",
                             "2026-10-27T00:00Z",
                             {"2026-10-24T00:30Z", "2026-10-25T00:30Z", "2026-10-26T01:30Z"}},
                    ZoneCase{"TimesThatFallOnTheChangeAreOne",
                             "0,30 2-3 * * *",
                             "Europe/Berlin",
                             "2026-03-29T00:00Z",
                             "2026-03-30T00:00Z",
                             {"2026-03-29T01:00Z", "2026-03-29T01:30Z"}},
                    ZoneCase{"RealTimeHasBothHours",
                             "*/30 2 * * *",
                             "Europe/Berlin",
                             "2026-10-24T20:00Z",
                             "2026-10-26T00:00Z",
                             {"2026-10-25T00:00Z", "2026-10-25T00:30Z", "2026-10-25T01:00Z", "2026-10-25T01:30Z"}},
                    ZoneCase{"RealTimeHasNoHourThatIsLeftOut",
                             "*/30 2 * * *",
                             "Europe/Berlin",
                             "2026-03-27T12:00Z",
                             "2026-03-31T00:00Z",
                             {"2026-03-28T01:00Z", "2026-03-28T01:30Z", "2026-03-30T00:00Z", "2026-03-30T00:30Z"}},
                    ZoneCase{"AStepInARangeHasTimesOfTheDay",
                             "15 0-4/2 * * *",
                             "Europe/Berlin",
                             "2026-10-24T20:00Z",
                             "2026-10-25T06:00Z",
                             {"2026-10-24T22:15Z", "2026-10-25T00:15Z", "2026-10-25T03:15Z"}},
                    ZoneCase{"AStarLaterInAListHasTimesOfTheDay",
                             "5,*/30 2 * * *",
                             "Europe/Berlin",
                             "2026-10-24T20:00Z",
                             "2026-10-26T00:00Z",
                             {"2026-10-25T00:00Z", "2026-10-25T00:05Z", "2026-10-25T00:30Z"}},
                    ZoneCase{"EveryHalfHourGoesOn",
                             "*/30 * * * *",
                             "Europe/Berlin",
                             "2026-10-24T22:59Z",
                             "2026-10-25T02:00Z",
                             {"2026-10-24T23:00Z", "2026-10-24T23:30Z", "2026-10-25T00:00Z", "2026-10-25T00:30Z",
                              "2026-10-25T01:00Z", "2026-10-25T01:30Z"}},
                    ZoneCase{"NewYorkForward",
                             "30 2 * * *",
                             "America/New_York",
                             "2026-03-07T12:00Z",
                             "2026-03-09T12:00Z",
                             {"2026-03-08T07:00Z", "2026-03-09T06:30Z"}},
                    ZoneCase{"NewYorkBack",
                             "30 1 * * *",
                             "America/New_York",
                             "2026-10-31T00:00Z",
                             "2026-11-03T00:00Z",
                             {"2026-10-31T05:30Z", "2026-11-01T05:30Z", "2026-11-02T06:30Z"}},
                    ZoneCase{"NewYorkHourly",
                             "@hourly",
                             "America/New_York",
                             "2026-11-01T03:59Z",
                             "2026-11-01T08:00Z",
                             {"2026-11-01T04:00Z", "2026-11-01T05:00Z", "2026-11-01T06:00Z", "2026-11-01T07:00Z"}},
                    ZoneCase{"LordHoweForwardByHalfAnHour",
                             "15 2 * * *",
                             "Australia/Lord_Howe",
                             "2026-10-02T12:00Z",
                             "2026-10-05T00:00Z",
                             {"2026-10-02T15:45Z", "2026-10-03T15:30Z", "2026-10-04T15:15Z"}},
                    ZoneCase{"LordHoweBackByHalfAnHour",
                             "45 1 * * *",
                             "Australia/Lord_Howe",
                             "2026-04-03T00:00Z",
                             "2026-04-06T00:00Z",
                             {"2026-04-03T14:45Z", "2026-04-04T14:45Z", "2026-04-05T15:15Z"}},
                    ZoneCase{"KolkataDaily",
                             "0 3 * * *",
                             "Asia/Kolkata",
                             "2026-03-28T00:00Z",
                             "2026-03-30T00:00Z",
                             {"2026-03-28T21:30Z", "2026-03-29T21:30Z"}},
                    ZoneCase{"KolkataHourly",
                             "@hourly",
                             "Asia/Kolkata",
                             "2026-03-28T00:00Z",
                             "2026-03-28T03:00Z",
                             {"2026-03-28T00:30Z", "2026-03-28T01:30Z", "2026-03-28T02:30Z"}},
                    ZoneCase{"UtcHasNoChanges",
                             "30 2 * * *",
                             "UTC",
                             "2026-03-28T00:00Z",
                             "2026-03-31T00:00Z",
                             {"2026-03-28T02:30Z", "2026-03-29T02:30Z", "2026-03-30T02:30Z"}},
                    ZoneCase{"ApiaLeftOutADay",
                             "0 3 * * *",
                             "Pacific/Apia",
                             "2011-12-29T00:00Z",
                             "2012-01-01T00:00Z",
                             {"2011-12-29T13:00Z", "2011-12-30T10:00Z", "2011-12-30T13:00Z", "2011-12-31T13:00Z"}},
                    ZoneCase{"HavanaBackOverMidnight",
                             "30 0 * * *",
                             "America/Havana",
                             "2023-11-04T00:00Z",  // for later years releases of tzdata differ
                             "2023-11-07T00:00Z",
                             {"2023-11-04T04:30Z", "2023-11-05T04:30Z", "2023-11-06T05:30Z"}}),
    [](const auto& each) { return std::string{each.param.name}; });

}  // namespace
}  // namespace tenure::test
