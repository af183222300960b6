// What the ledger of one job decides and notes, rule by rule.
#include "election/jobs/src/job_runs.hpp"

#include <gtest/gtest.h>

#include "job_times.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_seconds;

constexpr auto none = std::nullopt;

class JobRunsTest : public testing::Test {
 protected:
  JobDecision decide(const std::string& clock, std::uint64_t token) {
    return runs.decide(instant(clock), daily, policy, FencingToken{token});
  }
  bool begin(const std::string& period, std::uint64_t token, unsigned attempt = 1) {
    return runs.begin({instant(period), attempt}, {FencingToken{token}, "host-" + std::to_string(token), now}, daily);
  }
  bool end(std::uint64_t token, RunOutcome outcome, std::optional<int> code = none) {
    return runs.end({FencingToken{token}, outcome, code, 90s});
  }
  /// A run from begin to end.
  void ran(const std::string& period, std::uint64_t token) {
    ASSERT_TRUE(begin(period, token)) << period;
    ASSERT_TRUE(end(token, RunOutcome::succeeded, 0));
  }
  static JobDecision run(const std::string& period, unsigned attempt = 1, std::chrono::milliseconds pause = 0ms) {
    return BeginRun{instant(period), attempt, pause};
  }
  static JobDecision wait(const std::string& until) { return WaitUntil{instant(until)}; }

  const Schedule daily = Schedule::cron("0 3 * * *").value();
  const sys_seconds now = instant("2026-11-24T03:00Z");
  JobPolicy policy{};
  JobRuns runs;
};

TEST_F(JobRunsTest, BeginsTheCurrentPeriodOnceAndWaitsForTheNext) {
  EXPECT_EQ(decide("2026-11-24T11:00Z", 1), run("2026-11-24T03:00Z")) << "at any time in it";
  ASSERT_TRUE(begin("2026-11-24T03:00Z", 1));
  EXPECT_EQ(decide("2026-11-24T11:00Z", 1), JobDecision{RunIsOpen{}});
  ASSERT_TRUE(end(1, RunOutcome::succeeded, 0));
  EXPECT_EQ(decide("2026-11-24T11:01Z", 1), wait("2026-11-25T03:00Z"));
  EXPECT_EQ(decide("2026-11-25T03:00Z", 1), run("2026-11-25T03:00Z"));
  EXPECT_TRUE(runs.contains(instant("2026-11-24T03:00Z")));
  EXPECT_FALSE(runs.contains(instant("2026-11-25T03:00Z")));
}

TEST_F(JobRunsTest, ASecondStartOnTheSameNightRepeatsNothing) {
  ran("2026-11-24T03:00Z", 1);
  EXPECT_EQ(decide("2026-11-24T12:00Z", 2), wait("2026-11-25T03:00Z"));
  EXPECT_FALSE(begin("2026-11-24T03:00Z", 2)) << "whatever the caller thinks";
}

TEST_F(JobRunsTest, AtMostOnceRepeatsNoRunWhateverBecameOfIt) {
  ASSERT_TRUE(begin("2026-11-24T03:00Z", 1));
  EXPECT_EQ(decide("2026-11-24T04:00Z", 2), wait("2026-11-25T03:00Z")) << "its copy crashed";
  ASSERT_TRUE(begin("2026-11-25T03:00Z", 2));
  ASSERT_TRUE(end(2, RunOutcome::failed, 1));
  EXPECT_EQ(decide("2026-11-25T04:00Z", 2), wait("2026-11-26T03:00Z")) << "it failed";
  ASSERT_TRUE(begin("2026-11-26T03:00Z", 2));
  ASSERT_TRUE(end(2, RunOutcome::stopped));
  EXPECT_EQ(decide("2026-11-26T04:00Z", 3), wait("2026-11-27T03:00Z")) << "it was stopped";
}

TEST_F(JobRunsTest, AtLeastOnceBeginsALostRunAgain) {
  policy.guarantee = Guarantee::atLeastOnce;
  ASSERT_TRUE(begin("2026-11-24T03:00Z", 1));
  EXPECT_EQ(decide("2026-11-24T03:10Z", 2), run("2026-11-24T03:00Z", 2, 1s));
  ASSERT_TRUE(begin("2026-11-24T03:00Z", 2, 2));
  EXPECT_EQ(runs.history().past.back().outcome, RunOutcome::lost);
  EXPECT_EQ(runs.history().past.back().duration, none);
  ASSERT_TRUE(end(2, RunOutcome::failed, 3));
  EXPECT_EQ(decide("2026-11-24T03:20Z", 2), run("2026-11-24T03:00Z", 3, 2s)) << "a failure, in the same term";
  ASSERT_TRUE(begin("2026-11-24T03:00Z", 2, 3));
  ASSERT_TRUE(end(2, RunOutcome::succeeded, 0));
  EXPECT_EQ(decide("2026-11-24T03:30Z", 2), wait("2026-11-25T03:00Z"));
  EXPECT_EQ(decide("2026-11-24T03:30Z", 3), wait("2026-11-25T03:00Z")) << "nor does a later term repeat a success";
}

TEST_F(JobRunsTest, AtLeastOnceGivesUpAfterTheLastAttempt) {
  policy = {.guarantee = Guarantee::atLeastOnce, .mostAttempts = 2};
  ASSERT_TRUE(begin("2026-11-24T03:00Z", 1));
  ASSERT_TRUE(end(1, RunOutcome::failed, 1));
  ASSERT_TRUE(begin("2026-11-24T03:00Z", 1, 2));
  ASSERT_TRUE(end(1, RunOutcome::failed, 1));
  EXPECT_EQ(decide("2026-11-24T03:30Z", 1), wait("2026-11-25T03:00Z"));
  EXPECT_EQ(decide("2026-11-24T03:30Z", 2), wait("2026-11-25T03:00Z"));
}

TEST_F(JobRunsTest, ANewerPeriodTakesThePlaceOfAnUnfinishedOne) {
  policy.guarantee = Guarantee::atLeastOnce;
  ASSERT_TRUE(begin("2026-11-24T03:00Z", 1));
  EXPECT_EQ(decide("2026-11-25T02:59Z", 2), run("2026-11-24T03:00Z", 2, 1s));
  EXPECT_EQ(decide("2026-11-25T03:00Z", 2), run("2026-11-25T03:00Z"));
  policy.missed = Missed::skip;
  EXPECT_EQ(decide("2026-11-25T03:00Z", 2), run("2026-11-25T03:00Z"));
  EXPECT_EQ(decide("2026-11-25T04:00Z", 2), wait("2026-11-26T03:00Z")) << "even if it is too late for that one";
  policy.missed = Missed::all;
  EXPECT_EQ(decide("2026-11-25T04:00Z", 2), run("2026-11-24T03:00Z", 2, 1s)) << "the older one goes first";
  policy.missed = Missed::once;
  ASSERT_TRUE(begin("2026-11-25T03:00Z", 2));
  EXPECT_EQ(decide("2026-11-24T04:00Z", 3), run("2026-11-25T03:00Z", 2, 1s)) << "the clock was put back";
}

TEST_F(JobRunsTest, SkipBeginsAPeriodOnlyNearItsOccurrence) {
  policy.missed = Missed::skip;
  EXPECT_EQ(decide("2026-11-24T03:01Z", 1), run("2026-11-24T03:00Z"));
  EXPECT_EQ(runs.decide(instant("2026-11-24T03:01Z") + 1s, daily, policy, FencingToken{1}), wait("2026-11-25T03:00Z"));
}

TEST_F(JobRunsTest, OnceMakesUpForAllThatWasMissed) {
  ran("2026-11-20T03:00Z", 1);
  EXPECT_EQ(decide("2026-11-24T12:00Z", 1), run("2026-11-24T03:00Z"));
  ran("2026-11-24T03:00Z", 1);
  EXPECT_EQ(decide("2026-11-24T12:00Z", 1), wait("2026-11-25T03:00Z"));
}

TEST_F(JobRunsTest, AllRunsWhatWasMissedInOrderButNotMoreThanItMay) {
  policy = {.missed = Missed::all, .mostMissed = 3};
  EXPECT_EQ(decide("2026-11-20T12:00Z", 1), run("2026-11-20T03:00Z")) << "no history: nothing was missed";
  ran("2026-11-20T03:00Z", 1);
  EXPECT_EQ(decide("2026-11-22T12:00Z", 1), run("2026-11-21T03:00Z"));
  for (const char* expected : {"2026-11-27T03:00Z", "2026-11-28T03:00Z", "2026-11-29T03:00Z", "2026-11-30T03:00Z"}) {
    EXPECT_EQ(decide("2026-11-30T12:00Z", 1), run(expected));
    ran(expected, 1);
  }
  EXPECT_EQ(decide("2026-11-30T12:00Z", 1), wait("2026-12-01T03:00Z"));
}

TEST_F(JobRunsTest, AClockThatWasAYearAheadBlocksNothing) {
  ran("2026-11-24T03:00Z", 1);
  ran("2027-11-24T03:00Z", 1);
  EXPECT_EQ(decide("2026-11-24T12:00Z", 1), wait("2026-11-25T03:00Z"));
  ran("2026-11-25T03:00Z", 1);
  ran("2026-11-26T03:00Z", 2);
  EXPECT_EQ(decide("2027-11-24T12:00Z", 2), wait("2027-11-25T03:00Z")) << "what was run ahead is not run again";
  EXPECT_EQ(runs.history().begun.size(), 2U);
}

TEST_F(JobRunsTest, AFailedRunOfAClockThatWasAheadKeepsNoPeriodWaiting) {
  policy.guarantee = Guarantee::atLeastOnce;
  for (const Missed missed : {Missed::once, Missed::skip}) {
    policy.missed = missed;
    runs = {};
    ran("2026-11-23T03:00Z", 1);
    ASSERT_TRUE(begin("2027-11-24T03:00Z", 1));
    ASSERT_TRUE(end(1, RunOutcome::failed, 1));
    EXPECT_EQ(decide("2026-11-23T03:10Z", 2), run("2027-11-24T03:00Z", 2, 1s)) << "nothing else is due";
    EXPECT_EQ(decide("2026-11-24T03:00Z", 2), run("2026-11-24T03:00Z"));
    ran("2026-11-24T03:00Z", 2);
    EXPECT_EQ(decide("2026-11-24T03:01Z", 2), wait("2026-11-25T03:00Z"));
    EXPECT_TRUE(runs.contains(instant("2027-11-24T03:00Z")));
  }
}

/// Or else no term that is shorter than the grown pause would repeat the run.
TEST_F(JobRunsTest, ANewTermStartsAtTheFirstPause) {
  policy = {.guarantee = Guarantee::atLeastOnce, .backoff = 10s};
  ASSERT_TRUE(begin("2026-11-24T03:00Z", 1));
  for (unsigned attempt = 2; attempt < 6; ++attempt) {
    ASSERT_TRUE(end(1, RunOutcome::failed, 1));
    ASSERT_TRUE(begin("2026-11-24T03:00Z", 1, attempt));
  }
  ASSERT_TRUE(end(1, RunOutcome::failed, 1));
  EXPECT_EQ(decide("2026-11-24T03:30Z", 1), run("2026-11-24T03:00Z", 6, 160s));
  EXPECT_EQ(decide("2026-11-24T03:30Z", 2), run("2026-11-24T03:00Z", 6, 10s));
}

TEST_F(JobRunsTest, OnlyTheTermThatBeganARunMayEndIt) {
  EXPECT_FALSE(end(1, RunOutcome::succeeded));
  ASSERT_TRUE(begin("2026-11-24T03:00Z", 1));
  EXPECT_FALSE(end(2, RunOutcome::succeeded));
  EXPECT_FALSE(end(1, RunOutcome::lost)) << "whoever can note an end knows it";
  ASSERT_TRUE(end(1, RunOutcome::failed, 1));
  EXPECT_FALSE(end(1, RunOutcome::succeeded)) << "it has an end";
  ASSERT_TRUE(begin("2026-11-25T03:00Z", 2));
  EXPECT_FALSE(end(1, RunOutcome::succeeded));
}

TEST_F(JobRunsTest, RefusesToBeginWhatNoDecisionSaid) {
  EXPECT_FALSE(begin("2026-11-24T03:00Z", 0)) << "no token";
  EXPECT_FALSE(begin("2026-11-24T03:00Z", maxFencingToken.value() + 1));
  EXPECT_FALSE(begin("2026-11-24T03:00Z", 1, 0));
  EXPECT_FALSE(begin("2026-11-24T03:00Z", 1, 2)) << "there was no first attempt";
  ASSERT_TRUE(begin("2026-11-24T03:00Z", 2));
  EXPECT_FALSE(begin("2026-11-25T03:00Z", 2)) << "the run has no end yet";
  EXPECT_FALSE(begin("2026-11-24T03:00Z", 3, 3)) << "the second attempt comes first";
  EXPECT_FALSE(begin("2026-11-25T03:00Z", 3, 2)) << "of another period";
  ASSERT_TRUE(end(2, RunOutcome::succeeded));
  EXPECT_FALSE(begin("2026-11-24T03:00Z", 3, 2)) << "it succeeded";
  EXPECT_FALSE(runs.begin({sys_seconds::max(), 1}, {FencingToken{3}, "host", now}, daily));
}

TEST_F(JobRunsTest, ARefusedChangeChangesNothing) {
  ASSERT_TRUE(begin("2026-11-24T03:00Z", 2));
  const JobRuns before = runs;
  EXPECT_FALSE(begin("2026-11-25T03:00Z", 2));
  EXPECT_FALSE(end(3, RunOutcome::failed));
  EXPECT_EQ(runs.forget(instant("2026-11-24T03:00Z"), FencingToken{2}), Forgotten::running);
  EXPECT_EQ(runs.forget(instant("2026-11-25T03:00Z"), FencingToken{2}), Forgotten::notThere);
  EXPECT_EQ(runs, before);
}

TEST_F(JobRunsTest, AForgottenPeriodBeginsAgain) {
  for (const char* period : {"2026-11-22T03:00Z", "2026-11-23T03:00Z", "2026-11-24T03:00Z"}) ran(period, 1);
  EXPECT_EQ(runs.forget(instant("2026-11-23T03:00Z"), FencingToken{}), Forgotten::done);
  EXPECT_EQ(runs.history().begun.size(), 2U);
  EXPECT_TRUE(runs.contains(instant("2026-11-22T03:00Z")));
  EXPECT_FALSE(runs.contains(instant("2026-11-23T03:00Z")));
  EXPECT_TRUE(runs.contains(instant("2026-11-24T03:00Z")));
  EXPECT_EQ(decide("2026-11-23T12:00Z", 1), run("2026-11-23T03:00Z"));
  ran("2026-11-23T03:00Z", 1);
  EXPECT_EQ(runs.history().begun,
            (std::vector<PeriodSpan>{{instant("2026-11-22T03:00Z"), instant("2026-11-24T03:00Z")}}));
}

TEST_F(JobRunsTest, ForgettingALostRunLetsItBeginAsAFirstAttempt) {
  ASSERT_TRUE(begin("2026-11-24T03:00Z", 1));
  EXPECT_EQ(runs.forget(instant("2026-11-24T03:00Z"), FencingToken{2}), Forgotten::done);
  EXPECT_EQ(runs.history().open, none);
  EXPECT_EQ(runs.history().past.back().outcome, RunOutcome::lost);
  EXPECT_EQ(decide("2026-11-24T12:00Z", 2), run("2026-11-24T03:00Z"));
}

/// `tenure fence recover` lets the tokens of a lease fall.
TEST_F(JobRunsTest, RunsOfHigherTokensAreOfTermsThatAreOver) {
  constexpr std::uint64_t high = 9'000'000'000'000'000;
  policy.guarantee = Guarantee::atLeastOnce;
  ran("2026-11-23T03:00Z", high);
  ASSERT_TRUE(begin("2026-11-24T03:00Z", high));
  EXPECT_EQ(decide("2026-11-24T12:00Z", 6), run("2026-11-24T03:00Z", 2, 1s));
  EXPECT_EQ(decide("2026-11-25T12:00Z", 6), run("2026-11-25T03:00Z"));
  JobRuns forgets = runs;
  EXPECT_EQ(forgets.forget(instant("2026-11-24T03:00Z"), FencingToken{6}), Forgotten::done);
  ASSERT_TRUE(begin("2026-11-24T03:00Z", 6, 2));
  EXPECT_EQ(runs.history().past.back().outcome, RunOutcome::lost);
  ASSERT_TRUE(end(6, RunOutcome::succeeded));
  ran("2026-11-25T03:00Z", 6);
  EXPECT_EQ(JobRuns::faultOf(runs.history()), none);
}

TEST_F(JobRunsTest, AllRunsNeighboursThatWereForgottenInOrder) {
  policy.missed = Missed::all;
  const std::vector<std::string> forgotten{"2026-11-22T03:00Z", "2026-11-23T03:00Z", "2026-11-24T03:00Z"};
  for (const char* period : {"2026-11-20T03:00Z", "2026-11-21T03:00Z"}) ran(period, 1);
  for (const auto& period : forgotten) ran(period, 1);
  for (const auto each : {1U, 0U, 2U})
    ASSERT_EQ(runs.forget(instant(forgotten[each]), FencingToken{}), Forgotten::done);
  for (const auto& period : forgotten) {
    EXPECT_EQ(decide("2026-11-24T12:00Z", 2), run(period));
    ran(period, 2);
  }
  EXPECT_EQ(decide("2026-11-24T12:00Z", 2), wait("2026-11-25T03:00Z"));
  EXPECT_EQ(runs.history().begun.size(), 1U);
}

TEST_F(JobRunsTest, WhatWasForgottenCountsAsMissedThoughNothingBeforeItWasBegun) {
  policy.missed = Missed::all;
  ran("2026-11-23T03:00Z", 1);
  ran("2026-11-24T03:00Z", 1);
  for (const char* period : {"2026-11-23T03:00Z", "2026-11-24T03:00Z"})
    ASSERT_EQ(runs.forget(instant(period), FencingToken{}), Forgotten::done);
  EXPECT_EQ(decide("2026-11-24T12:00Z", 2), run("2026-11-23T03:00Z"));
  ran("2026-11-23T03:00Z", 2);
  EXPECT_EQ(decide("2026-11-24T12:00Z", 2), run("2026-11-24T03:00Z"));
}

TEST_F(JobRunsTest, TheOnlyPeriodThatWasBegunCountsAsMissedOnceItIsForgotten) {
  policy.missed = Missed::all;
  ran("2026-11-23T03:00Z", 1);
  ASSERT_EQ(runs.forget(instant("2026-11-23T03:00Z"), FencingToken{}), Forgotten::done);
  for (const char* period : {"2026-11-23T03:00Z", "2026-11-24T03:00Z", "2026-11-25T03:00Z"}) {
    EXPECT_EQ(decide("2026-11-25T12:00Z", 2), run(period)) << "and none before it";
    ran(period, 2);
  }
  EXPECT_EQ(decide("2026-11-25T12:00Z", 2), wait("2026-11-26T03:00Z"));
  EXPECT_EQ(runs.history().begun.size(), 1U);
}

/// What a schedule of before named is the end of what was missed, whatever lies before it.
TEST_F(JobRunsTest, AllGoesBackToTheLastPeriodOfAnEarlierSchedule) {
  policy.missed = Missed::all;
  ran("2026-11-10T02:00Z", 1);
  ran("2026-11-20T02:00Z", 1);
  EXPECT_EQ(decide("2026-11-22T12:00Z", 1), run("2026-11-20T03:00Z"));
}

TEST_F(JobRunsTest, KeepsTheLastEightRunsForPeople) {
  for (unsigned day = 10; day < 20; ++day) {
    ASSERT_TRUE(begin("2026-11-" + std::to_string(day) + "T03:00Z", day));
    ASSERT_TRUE(end(day, RunOutcome::succeeded, 0));
  }
  const auto& past = runs.history().past;
  ASSERT_EQ(past.size(), JobRuns::mostPastRuns);
  EXPECT_EQ(past.front().token, FencingToken{12});
  EXPECT_EQ(past.back(), (PastRun{instant("2026-11-19T03:00Z"), FencingToken{19}, 1, now, RunOutcome::succeeded, 0, 90s,
                                  "host-19"}));
}

TEST_F(JobRunsTest, BringsWhatItNotesIntoBounds) {
  const auto noted = [&](const std::string& holder) {
    JobRuns fresh;
    EXPECT_TRUE(fresh.begin({now}, {FencingToken{1}, holder, sys_seconds::max()}, daily));
    EXPECT_TRUE(fresh.end({FencingToken{1}, RunOutcome::succeeded, none, std::chrono::milliseconds::min()}));
    EXPECT_EQ(JobRuns::faultOf(fresh.history()), none);
    return fresh.history().past.back().holder;
  };
  EXPECT_EQ(noted("db-1.example"), "db-1.example");
  EXPECT_EQ(noted(std::string(65, 'x')), std::string(64, 'x'));
  EXPECT_EQ(noted(std::string(40, '"')), std::string(32, '"')) << "each takes two bytes of JSON";
  EXPECT_EQ(noted(std::string(63, 'x') + "ü"), std::string(63, 'x')) << "no half of a character";
  EXPECT_EQ(noted("\xFF"), "");
  EXPECT_EQ(noted("a\nb"), "");
}

TEST_F(JobRunsTest, IsMadeOnlyOfWhatALedgerCouldHold) {
  EXPECT_NO_THROW(JobRuns{JobHistory{}});
  const PeriodSpan span{instant("2026-11-20T03:00Z"), instant("2026-11-24T03:00Z")};
  const OpenRun open{span.to, FencingToken{1}, 1, span.to, "host", false};
  EXPECT_NO_THROW((JobRuns{JobHistory{{span}, open, {}}}));
  EXPECT_THROW((JobRuns{JobHistory{{}, open, {}}}), std::invalid_argument) << "an open run that was not begun";
  EXPECT_THROW((JobRuns{JobHistory{{span, span}, none, {}}}), std::invalid_argument) << "an overlap";
  EXPECT_THROW((JobRuns{JobHistory{{{span.to, span.from}}, none, {}}}), std::invalid_argument);
  EXPECT_THROW((JobRuns{JobHistory{{}, none, std::vector<PastRun>(9)}}), std::invalid_argument);
}

bool doubt(JobRuns& runs, const std::string& current, const Schedule& schedule) {
  return runs.doubt(instant(current), {FencingToken{9}, "unknown", instant(current)}, schedule);
}

TEST_F(JobRunsTest, APeriodInDoubtCountsAsBegunAndAsALostRun) {
  ran("2026-11-22T03:00Z", 1);
  policy.missed = Missed::all;
  ASSERT_EQ(decide("2026-11-25T04:00Z", 9), run("2026-11-23T03:00Z"));
  ASSERT_TRUE(doubt(runs, "2026-11-25T03:00Z", daily));
  EXPECT_EQ(decide("2026-11-25T04:00Z", 9), wait("2026-11-26T03:00Z")) << "nor those since the last begun one";
  EXPECT_EQ(decide("2026-11-24T04:00Z", 9), wait("2026-11-25T03:00Z")) << "whatever the clock shows";
  EXPECT_EQ(decide("2026-11-26T04:00Z", 9), run("2026-11-26T03:00Z"));
  EXPECT_EQ(runs.history().past.back().outcome, RunOutcome::lost);
  EXPECT_EQ(runs.history().past.back().period, instant("2026-11-25T03:00Z"));
  const JobRuns once = runs;
  EXPECT_FALSE(doubt(runs, "2026-11-25T03:00Z", daily));
  EXPECT_EQ(runs, once) << "the same again changes nothing";
  EXPECT_EQ(JobRuns::faultOf(runs.history()), none);
}

TEST_F(JobRunsTest, ADoubtOfABegunPeriodChangesNothing) {
  ran("2026-11-25T03:00Z", 1);
  EXPECT_FALSE(doubt(runs, "2026-11-25T03:00Z", daily));
  EXPECT_EQ(runs.history().past.size(), 1U);
}

TEST_F(JobRunsTest, APeriodInDoubtRunsOnceItIsForgotten) {
  ASSERT_TRUE(doubt(runs, "2026-11-25T03:00Z", daily)) << "also where nothing was ever begun";
  ASSERT_EQ(runs.forget(instant("2026-11-25T03:00Z"), {}), Forgotten::done);
  EXPECT_EQ(decide("2026-11-25T04:00Z", 10), run("2026-11-25T03:00Z"));
}

TEST_F(JobRunsTest, WhatAProcessKnowsOfALostLedgerIsTakenOver) {
  ran("2026-11-22T03:00Z", 1);
  JobRuns stored = runs;
  ran("2026-11-23T03:00Z", 2);
  ASSERT_TRUE(begin("2026-11-24T03:00Z", 3));
  stored.learn(runs, daily);
  EXPECT_EQ(stored, runs);
  stored.learn(runs, daily);
  EXPECT_EQ(stored, runs) << "twice is as once";
  JobRuns empty;
  empty.learn(runs, daily);
  EXPECT_EQ(empty, runs);
}

TEST_F(JobRunsTest, ALedgerHasWhatAnEarlierStateOfItNotedLast) {
  std::vector<JobRuns> states{runs};
  const auto then = [&](bool changed) {
    EXPECT_TRUE(changed);
    states.push_back(runs);
  };
  then(begin("2026-11-22T03:00Z", 1));
  then(end(1, RunOutcome::failed, 1));
  then(begin("2026-11-22T03:00Z", 1, 2));
  then(end(1, RunOutcome::succeeded, 0));
  then(begin("2026-11-23T03:00Z", 1));
  then(begin("2026-11-24T03:00Z", 2));
  for (std::size_t one = 0; one < states.size(); ++one) {
    for (std::size_t other = 0; other < states.size(); ++other)
      EXPECT_EQ(states[one].hasLastOf(states[other]), one >= other) << one << ' ' << other;
  }
}

TEST_F(JobRunsTest, WhatAProcessKnowsIsNoReasonToForgetLaterRuns) {
  ran("2026-11-22T03:00Z", 1);
  const JobRuns known = runs;
  ASSERT_EQ(runs.forget(instant("2026-11-22T03:00Z"), {}), Forgotten::done);
  ran("2026-11-24T03:00Z", 3);
  runs.learn(known, daily);
  EXPECT_TRUE(runs.contains(instant("2026-11-22T03:00Z")));
  EXPECT_TRUE(runs.contains(instant("2026-11-24T03:00Z")));
  EXPECT_EQ(runs.history().past.back().token, FencingToken{3});
}

}  // namespace
}  // namespace tenure::test
