// When a waiting candidate reads next.
#include "lockcore/lease/poll_schedule.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "support/seeded_random.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

class PollScheduleTest : public ::testing::Test {
 protected:
  void pass(nanoseconds d) { now = now + d; }
  void toNext() { pass(std::max(poll.untilDue(now), nanoseconds{0})); }

  /// Polls for a holder that renews every `period`, for `renewals` of them. Returns for each renewal how old it was
  /// when it was seen.
  std::vector<nanoseconds> follow(nanoseconds period, int renewals) {
    const Instant start = now;
    std::vector<nanoseconds> ages;
    std::int64_t seen = 0;
    for (reads = 0; static_cast<int>(ages.size()) < renewals; ++reads) {
      toNext();
      const nanoseconds elapsed = elapsedForHolder(start, now);
      const std::int64_t newest = elapsed / period;
      const bool news = newest != seen;
      if (news) ages.push_back(elapsed % period);
      seen = newest;
      poll.answered(now, news, false);
    }
    return ages;
  }

  /// The same for heartbeats at given times, the first counted from `now`. Returns the age of each one that was seen.
  std::vector<nanoseconds> follow(const std::vector<nanoseconds>& heartbeats) {
    const Instant start = now;
    std::vector<nanoseconds> ages;
    std::size_t seen = 0;
    for (reads = 0; seen < heartbeats.size(); ++reads) {
      toNext();
      const nanoseconds elapsed = elapsedForHolder(start, now);
      const auto later = std::upper_bound(heartbeats.begin(), heartbeats.end(), elapsed);
      const auto came = static_cast<std::size_t>(later - heartbeats.begin());
      const bool news = came != seen;
      if (news) ages.push_back(elapsed - heartbeats[came - 1]);
      seen = came;
      poll.answered(now, news, false);
    }
    return ages;
  }

  /// Of a store that notifies of renewals.
  void hearTwice() {
    poll.answered(now, true, true);
    pass(3s);
    poll.answered(now, true, true);
  }

  Instant now{1h, 2h, 3h};
  SeededRandom random{1};
  PollSchedule poll{3s, 10s};
  int reads{0};
};

TEST_F(PollScheduleTest, aHurryIsDueAtOnceAndAPostponementIsNot) {
  poll.hurry(now);
  EXPECT_EQ(poll.untilDue(now), 0s);
  poll.postpone(now, 4s);
  EXPECT_EQ(poll.untilDue(now), 4s);
  pass(5s);
  EXPECT_EQ(poll.untilDue(now), -1s);
}

TEST_F(PollScheduleTest, fallsIntoPhaseWithTheHolder) {
  for (const nanoseconds period : {3000ms, 3001ms, 3010ms, 4000ms}) {
    poll = PollSchedule{3s, 10s};
    poll.hurry(now);
    const std::vector<nanoseconds> ages = follow(period, 60);
    const int readsInAll = reads;
    nanoseconds sum{0};
    for (std::size_t i = 30; i < ages.size(); ++i) sum += ages[i];
    EXPECT_LE(sum / 30, period / 16) << "each renewal is seen while it is fresh; a fixed grid gives period / 2";
    EXPECT_LE(readsInAll, 60 * 3) << "for about one to two reads in each period of " << period / 1ms << " ms";
  }
}

/// Other holders have another rhythm: Java's client sleeps for the part of the period that the request has left, others
/// sleep the whole period after each request. Nobody knows where in the period they are when the candidate comes.
TEST_F(PollScheduleTest, isBehindTheHeartbeatsOfAnyHolderAfterAHandfulOfThem) {
  for (const nanoseconds period : {500ms, 501ms, 508ms}) {
    for (nanoseconds phase = 1ms; phase < period; phase += 13ms) {
      std::vector<nanoseconds> heartbeats;
      for (int i = 0; i < 60; ++i) heartbeats.push_back(phase + i * period);
      poll = PollSchedule{500ms, 2s};
      poll.hurry(now);
      const std::vector<nanoseconds> ages = follow(heartbeats);
      ASSERT_GE(ages.size(), 58U) << "each heartbeat is seen";
      for (std::size_t i = 7; i < ages.size(); ++i) {
        EXPECT_LE(ages[i], 32ms) << "heartbeat " << i << " of a holder with " << period / 1ms << " ms, phase "
                                 << phase / 1ms << " ms";
      }
      EXPECT_LE(reads, 88) << "for 60 heartbeats, those of the search included";
    }
  }
}

/// One answer that took the holder long does not mean another rhythm.
TEST_F(PollScheduleTest, aHiccupOfTheHolderMovesNoLaterLookFarAway) {
  std::vector<nanoseconds> heartbeats;
  for (int i = 0; i < 60; ++i) heartbeats.push_back(100ms + i * nanoseconds{500ms} + (i % 20 == 19 ? 180ms : 0ms));
  poll = PollSchedule{500ms, 2s};
  poll.hurry(now);
  const std::vector<nanoseconds> ages = follow(heartbeats);
  ASSERT_GE(ages.size(), 58U);
  const auto old = std::count_if(ages.begin() + 10, ages.end(), [](nanoseconds age) { return age > 62ms; });
  EXPECT_LE(old, 3) << "the late ones themselves, which are looked for ever more seldom";
}

std::vector<nanoseconds> rhythm(std::initializer_list<std::pair<int, nanoseconds>> parts) {
  std::vector<nanoseconds> heartbeats{100ms};
  for (const auto& [count, period] : parts) {
    for (int i = 0; i < count; ++i) heartbeats.push_back(heartbeats.back() + period);
  }
  return heartbeats;
}

/// Each read meets news at every second or third heartbeat, so nothing shows the ones in between.
TEST_F(PollScheduleTest, isBehindEachHeartbeatAgainOfAHolderThatWasSlowForMinutes) {
  for (const nanoseconds slow : {900ms, 1000ms, 1250ms, 1500ms, 1700ms}) {
    poll = PollSchedule{500ms, 2s};
    poll.hurry(now);
    const std::vector<nanoseconds> ages = follow(rhythm({{30, 500ms}, {200, slow}, {200, 500ms}}));
    for (std::size_t i = ages.size() - 100; i < ages.size(); ++i) {
      ASSERT_LE(ages[i], 62ms) << "100 heartbeats after a period of " << slow / 1ms << " ms";
    }
    EXPECT_GE(ages.size(), 380U) << "those of which no look was nearer than the next heartbeat";
    EXPECT_LE(reads, 430 * 3 / 2);
  }
}

/// One holder's rhythm says nothing about that of the next one.
TEST_F(PollScheduleTest, anotherHolderIsFollowedByTheConfiguredPeriod) {
  poll = PollSchedule{500ms, 2s};
  poll.hurry(now);
  follow(rhythm({{100, 1500ms}}));
  poll.meetHolder();
  const std::vector<nanoseconds> ages = follow(rhythm({{60, 500ms}}));
  ASSERT_GE(ages.size(), 56U);
  for (std::size_t i = 10; i < ages.size(); ++i) EXPECT_LE(ages[i], 62ms);
}

/// The phase survives failures and slow answers; otherwise each would cost a new search.
TEST_F(PollScheduleTest, aReadThatFailedMovesNoLaterLook) {
  poll = PollSchedule{500ms, 2s};
  poll.hurry(now);
  follow(500ms, 20);
  toNext();
  poll.failed(now, ErrorClass::transient, random);
  toNext();
  pass(90ms);  // until the answer comes
  poll.answered(now, true, false);
  const nanoseconds next = poll.untilDue(now);
  pass(next);
  const Instant start{1h, 2h, 3h};
  EXPECT_LE((elapsedForHolder(start, now) + 10ms) % 500ms, 40ms);
}

TEST_F(PollScheduleTest, aSilentHolderCostsAboutOneReadInAPeriod) {
  poll.hurry(now);
  follow(3s, 10);
  const Instant silentFrom = now;
  int silentReads = 0;
  while (elapsedForHolder(silentFrom, now) < 300s) {
    toNext();
    poll.answered(now, false, false);
    ++silentReads;
  }
  EXPECT_LE(silentReads, 120);
  EXPECT_GE(silentReads, 80);
}

TEST_F(PollScheduleTest, whereTwoRenewalsWereToldThePollIsOnlyTheFallback) {
  poll.hurry(now);
  hearTwice();
  EXPECT_EQ(poll.untilDue(now), 3750ms);
}

/// A store may notify of acquisitions and releases alone. After an acquisition, nothing is slower than without the
/// hint.
TEST_F(PollScheduleTest, aHintThatMayBeOfAnAcquisitionPutsNoRenewalOff) {
  poll.hurry(now);
  poll.answered(now, true, true);
  EXPECT_LE(poll.untilDue(now), 3200ms);
  EXPECT_GT(poll.untilDue(now), 3000ms) << "where renewals are told, the next hint comes before this read";
  toNext();
  poll.answered(now, true, false);
  pass(3s);
  poll.answered(now, true, true);
  EXPECT_LE(poll.untilDue(now), 3300ms) << "a renewal that was polled for shows that renewals are not told";
  poll.meetHolder();
  poll.answered(now, true, true);
  EXPECT_LE(poll.untilDue(now), 3300ms) << "an acquisition again";
}

/// As after an acquisition on PostgreSQL, whose holder is killed soon.
TEST_F(PollScheduleTest, theFirstRenewalsBehindAToldAcquisitionAreSeenFresh) {
  for (const nanoseconds late : {0ms, 2ms, 10ms}) {
    poll = PollSchedule{500ms, 2s};
    poll.hurry(now);
    poll.answered(now, true, true);
    std::vector<nanoseconds> heartbeats;
    for (int i = 1; i <= 20; ++i) heartbeats.push_back(i * 500ms + late);
    const std::vector<nanoseconds> ages = follow(heartbeats);
    ASSERT_EQ(ages.size(), 20U);
    for (const nanoseconds age : ages) EXPECT_LE(age, 32ms);
    EXPECT_LE(reads, 32);
  }
}

/// A store may notify of every commit to a file that contains many leases. That must not make each waiting candidate
/// poll faster.
TEST_F(PollScheduleTest, aHintForNothingLeavesThePlan) {
  poll.hurry(now);
  hearTwice();
  pass(1s);
  poll.answered(now, false, true);
  EXPECT_EQ(poll.untilDue(now), 2750ms);
  pass(3s);
  poll.answered(now, false, true);
  EXPECT_LE(poll.untilDue(now), 200ms) << "the poll was due anyway: now it is a read that came early";
}

TEST_F(PollScheduleTest, anOutageOfTheHolderTeachesNoPeriod) {
  poll.hurry(now);
  follow(3s, 20);
  pass(60s);
  poll.answered(now, false, false);
  pass(1s);
  poll.answered(now, true, false);
  EXPECT_LE(poll.untilDue(now), 3500ms);
  EXPECT_GE(poll.untilDue(now), 2500ms);
}

TEST_F(PollScheduleTest, failuresBackOffAndASuccessEndsThat) {
  nanoseconds last{0};
  for (int i = 0; i < 20; ++i) {
    poll.failed(now, ErrorClass::transient, random);
    last = poll.untilDue(now);
    EXPECT_GE(last, 375ms);
    EXPECT_LE(last, 3'750ms);
  }
  EXPECT_GE(last, 1500ms);
  poll.answered(now, true, false);
  poll.failed(now, ErrorClass::transient, random);
  EXPECT_LE(poll.untilDue(now), 938ms);
}

TEST(Backoff, growsToACapThatDependsOnTheError) {
  SeededRandom random{1};
  const auto meanOf = [&](ErrorClass passing, nanoseconds most) {
    nanoseconds sum{0};
    for (int i = 0; i < 200; ++i) {
      const nanoseconds wait = backoff(1000, passing, 3s, 10s, random);
      EXPECT_GE(wait, most * 3 / 4);
      EXPECT_LT(wait, most * 5 / 4);
      sum += wait;
    }
    return sum / 200;
  };
  EXPECT_LE(backoff(0, ErrorClass::transient, 3s, 10s, random), 938ms);
  EXPECT_GE(meanOf(ErrorClass::transient, 3s), 2'900ms) << "no more than one request in each heartbeat, as in health";
  EXPECT_GE(meanOf(ErrorClass::throttled, 6s), 5'800ms) << "a store that asks for patience gets it";
  for (const ErrorClass lasting : {ErrorClass::credentials, ErrorClass::misconfigured, ErrorClass::corrupt}) {
    for (int i = 0; i < 50; ++i) {
      const nanoseconds wait = backoff(8, lasting, 3s, 10s, random);
      EXPECT_GE(wait, 7'500ms);
      EXPECT_LT(wait, 12'500ms);
    }
  }
}

TEST(Backoff, isNeverVeryShort) {
  SeededRandom random{1};
  EXPECT_GE(backoff(0, ErrorClass::transient, 10ms, 100ms, random), 1875us);
  EXPECT_GE(backoff(8, ErrorClass::transient, 10ms, 100ms, random), 75ms);
  EXPECT_GE(backoff(8, ErrorClass::credentials, 10ms, 100ms, random), 320ms);
}

/// Reads that hints without news cause in 10 periods of 3 s, one hint in each millisecond.
TEST_F(PollScheduleTest, aFloodOfHintsCostsABoundedNumberOfReads) {
  poll.postpone(now, 3s);
  int hinted = 0;
  for (int i = 0; i < 30'000; ++i, pass(1ms)) {
    const bool due = poll.untilDue(now) <= 0s;
    if (!due && poll.untilHinted(now) > 0s) continue;
    if (!due) poll.tookHint(now), ++hinted;
    poll.answered(now, false, !due);
  }
  EXPECT_GE(hinted, 8);
  EXPECT_LE(hinted, 8 + 30 * 41) << "40 in a second, and not one for each hint";
}

/// 50 leases in one SQLite file: each commit is a hint for all of them.
TEST_F(PollScheduleTest, aHintAmongThoseOfOtherLeasesIsAnsweredSoonHoweverLongTheLeaseIs) {
  PollSchedule slow{20s, 60s};
  slow.postpone(now, 20s);
  for (int i = 0; i < 500; ++i, pass(10ms)) {
    EXPECT_LE(slow.untilHinted(now), 25ms) << i;
    if (slow.untilHinted(now) <= 0s) slow.tookHint(now);
  }
}

TEST_F(PollScheduleTest, hintsThatBringNewsAreAnsweredAtOnce) {
  for (int i = 0; i < 1'000; ++i, pass(1ms)) {
    ASSERT_LE(poll.untilHinted(now), 0s) << i;
    poll.tookHint(now);
    poll.answered(now, true, true);
  }
}

TEST_F(PollScheduleTest, afterAQuietPeriodHintsAreAnsweredAtOnceAgain) {
  for (int i = 0; i < 8; ++i) poll.tookHint(now);
  EXPECT_GT(poll.untilHinted(now), 0s);
  pass(3s);
  for (int i = 0; i < 8; ++i) {
    EXPECT_LE(poll.untilHinted(now), 0s) << i;
    poll.tookHint(now);
  }
  EXPECT_GT(poll.untilHinted(now), 0s);
}

}  // namespace
}  // namespace tenure::test
