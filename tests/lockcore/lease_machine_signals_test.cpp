// What LeaseMachine reports and is told: reasons, doubts, hints, deaths, priorities, and how often it asks.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// ---- leaders ----

TEST(Leaders, aRecordAloneIsNoSignOfLifeAndARenewalIs) {
  MachineHarness m;
  m.step(event::Start{});
  const auto look = [&](const std::optional<LeaseRecord>& record) {
    m.answerRead(record);
    const bool renews = m.machine.leaderRenews();
    while (m.toWakeup() != "read") {
    }
    return renews;
  };
  EXPECT_FALSE(look(othersRecord("v1", 5))) << "seen for the first time";
  EXPECT_FALSE(look(othersRecord("v1", 5)));
  EXPECT_TRUE(look(othersRecord("v2", 5)));
  EXPECT_TRUE(look(othersRecord("v2", 5)));
  EXPECT_FALSE(look(othersRecord("v3", 6))) << "another term";
  EXPECT_FALSE(look(releasedRecord("v4", 6)));
}

// ---- reasons (pitfall 20) and doubts ----

TEST(Reasons, aStoreThatDoesNotAnswerIsStoreUnreachable) {
  MachineHarness m;
  m.becomeRenewing();
  while (m.state() == LeaseState::leading) m.toWakeup();
  EXPECT_EQ(m.revocations().back().reason, RevokeReason::storeUnreachable);
  EXPECT_EQ(m.revocations().back().detail.rfind("the store did not answer within", 0), 0U);
}

TEST(Reasons, aSingleRequestThatHangsToTheEndIsStoreUnreachable) {
  LeaseOptions options = tenSecondLease();
  options.heartbeat = 4s;
  options.clockMargin = 1s;
  options.stopMargin = 1s;
  MachineHarness m{options};
  m.becomeLeading();
  m.now = m.now + 7s;  // woken late, but not late enough for a pause
  m.wake();
  m.now = m.now + 1s;
  m.wake();
  EXPECT_EQ(m.revocations().back().reason, RevokeReason::storeUnreachable);
  EXPECT_EQ(m.revocations().back().detail, "the renewal was not answered in time");
}

TEST(Reasons, aMachineThatIsWokenLateIsExpired) {
  LeaseOptions options = tenSecondLease();
  options.heartbeat = 4s;
  options.clockMargin = 1s;
  options.stopMargin = 1s;
  MachineHarness m{options};
  m.becomeLeading();
  m.now = m.now + 2s;
  m.wake();
  m.now = m.now + 6s;  // late, but not late enough to count as a pause
  m.wake();
  EXPECT_EQ(m.revocations().back().reason, RevokeReason::expired);
  EXPECT_EQ(m.revocations().back().detail, "the renewal came too late");
}

TEST(Reasons, theDoubtTellsHowLongItLeadsOn) {
  MachineHarness m;
  m.becomeRenewing();
  m.now = m.now + 500ms;
  const LeaseActions actions =
      m.machine.step(m.now, event::WriteReply{m.attempt(), Rejected{{ErrorClass::throttled, "slow down"}}});
  ASSERT_EQ(describe(actions), "inDoubt");
  const auto& doubt = std::get<action::InDoubt>(actions.front());
  EXPECT_EQ(doubt.error.message, "slow down");
  EXPECT_EQ(doubt.remaining, 8989ms - 3500ms);
}

/// Each request's time-out leaves time for another request before the deadline.
TEST(Reasons, requestsAreShorterThanHalfOfWhatIsLeft) {
  MachineHarness m;
  m.becomeRenewing();
  EXPECT_LE(m.lastTimeout, 3s);
  while (m.state() == LeaseState::leading) {
    const std::string did = m.toWakeup();
    if (did != "renew") continue;
    const nanoseconds left = m.published().leadsFor - elapsedForHolder(m.published().anchor, m.now);
    ASSERT_LE(m.lastTimeout, left / 2);
    ASSERT_GE(m.lastTimeout, 2ms);
  }
}

// ---- hints, death notices, priorities ----

TEST(Hints, triggerOneEarlyReadEach) {
  MachineHarness m;
  m.becomeCandidate();
  EXPECT_EQ(m.step(event::StoreHint{}), "read");
  EXPECT_EQ(m.step(event::StoreHint{}), "") << "one request at a time";
  EXPECT_EQ(m.step(event::StoreHint{}), "");
  EXPECT_EQ(m.answerRead(std::optional{othersRecord()}), "read") << "it may have been read before that change";
  EXPECT_EQ(m.answerRead(std::optional{othersRecord()}), "");
}

TEST(Hints, doNotMakeAnythingUnsafe) {
  MachineHarness m;
  m.becomeCandidate();
  const Instant seen = m.now;
  while (elapsedForChallenger(seen, m.now) < 9900ms) {
    m.now = m.now + 100ms;
    if (m.step(event::StoreHint{}) == "read") {
      ASSERT_EQ(m.answerRead(std::optional{othersRecord()}), "");
    }
    ASSERT_EQ(m.state(), LeaseState::candidate);
  }
}

TEST(DeathNotices, freeTheLeaseOfThatHolderOnly) {
  MachineHarness m;
  m.becomeReading();
  LeaseRecord record = othersRecord("v1");
  record.livenessFile = LivenessFile{"beacon-1", "boot", 1, 2};
  m.answerRead(std::optional{record});
  EXPECT_EQ(m.step(event::HolderProvenDead{"beacon-9"}), "");
  EXPECT_GE(m.machine.untilWakeup(m.now), 90ms);
  m.step(event::HolderProvenDead{"beacon-1"});
  const Instant told = m.now;
  if (m.state() == LeaseState::candidate) m.toWakeup();
  EXPECT_EQ(m.state(), LeaseState::acquiring);
  EXPECT_LE(elapsedForHolder(told, m.now), 5ms);
  EXPECT_EQ(m.expected(), "v1") << "conditioned on the version as ever";
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{6}}), "unfollow publish(leads) leader(self) elected(6)");
}

TEST(DeathNotices, ownLivenessFileGoesIntoEveryRecord) {
  MachineHarness m;
  const LivenessFile mine{"beacon-0", "boot", 3, 4};
  m.step(event::Start{mine});
  m.answerRead(absent);
  m.toWakeup();
  EXPECT_EQ(m.write().record.livenessFile, mine);
  m.answerWrite(Applied{FencingToken{1}});
  m.after(3s);
  EXPECT_EQ(m.write().record.livenessFile, mine);
}

TEST(Priorities, aLowerOneWaitsLongerByTwoPercentOfTheLeaseForEachStep) {
  for (const unsigned priority : {0U, 1U, 10U, 50U}) {
    MachineHarness m{tenSecondLease(), priority};
    m.becomeReading();
    m.answerRead(std::optional{releasedRecord()});
    const Instant seen = m.now;
    EXPECT_EQ(readUntilElse(m, releasedRecord()), "acquire");
    EXPECT_GE(elapsedForChallenger(seen, m.now), priority * 200ms);
    EXPECT_LE(elapsedForChallenger(seen, m.now), priority * 200ms + 5ms);
  }
}

TEST(Priorities, holdForALeaseThatWasSeenToBeFreeBeforeTheStart) {
  MachineHarness m{tenSecondLease(), 50};
  const Instant seen = m.now;
  m.step(event::Start{.sighting = LeaseSighting{releasedRecord(), seen}});
  EXPECT_EQ(m.toWakeup(), "read");
  m.answerRead(std::optional{releasedRecord()});
  EXPECT_EQ(readUntilElse(m, releasedRecord()), "acquire");
  EXPECT_GE(elapsedForChallenger(seen, m.now), 10s);
}

// ---- no request without a pause, no list without an end ----

LeaseOptions shortestLease() {
  LeaseOptions options;
  options.duration = 100ms;
  options.heartbeat = 10ms;
  return options;
}

TEST(Pacing, retriesOfShortHeartbeatsGrowTooAndAreFew) {
  MachineHarness m{shortestLease()};
  m.becomeLeading();
  int renewals = 0;
  while (m.state() == LeaseState::leading) {
    const std::string did = m.toWakeup();
    renewals += did == "renew";
    if (did == "renew") m.answerWrite(Rejected{transientError()});
  }
  EXPECT_GE(renewals, 8);
  EXPECT_LE(renewals, 30) << "not one in each millisecond";
}

TEST(Pacing, theConditionOfAReleaseStaysShort) {
  MachineHarness m{shortestLease()};
  m.becomeReleasing();
  int releases = 1;
  while (m.state() == LeaseState::releasing) {
    m.answerWrite(Unknown{transientError()});
    releases += m.toWakeup() == "release";
    ASSERT_LE(m.write().expected.size(), 9U);
  }
  EXPECT_GE(releases, 8);
  EXPECT_LE(releases, 40);
}

TEST(Hints, ofALossMakeAHolderRenewAtOnce) {
  MachineHarness m;
  m.becomeLeading();
  EXPECT_EQ(m.step(event::StoreHint{}), "") << "of a change: its own, most of the time";
  EXPECT_EQ(m.step(event::StoreHint{true}), "renew");
  EXPECT_EQ(m.step(event::StoreHint{true}), "") << "one is under way";
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{1}}), "publish(leads) renewed renew")
      << "that one may have been before the loss";
  m.answerWrite(Conflict{std::optional<LeaseRecord>{}});
  EXPECT_EQ(m.revocations().back().reason, RevokeReason::recordMissing);
}

/// Work without progress keeps the lease from being renewed, so the hint must not ask for it again and again.
TEST(Hints, ofALossDoNotSpinWhileTheWorkShowsNoProgress) {
  LeaseOptions options = tenSecondLease();
  options.progressTimeout = 4s;
  MachineHarness m{options};
  m.becomeLeading();
  ASSERT_EQ(m.toWakeup(), "renew");
  m.answerWrite(Applied{FencingToken{1}});
  ASSERT_EQ(m.after(3s), "inDoubt");
  m.step(event::StoreHint{true});
  int wakeups = 0;
  while (m.state() == LeaseState::leading && wakeups < 1000) {
    m.toWakeup();
    ++wakeups;
  }
  EXPECT_LE(wakeups, 30);
  EXPECT_EQ(m.revocations().back().reason, RevokeReason::expired);
}

/// Of a record that a candidate reads again and again. The holder's lease is ten seconds.
class Vacancy : public ::testing::Test {
 protected:
  void readUntil(std::chrono::nanoseconds after, const std::function<LeaseRecord()>& record) {
    const Instant end = m.now + after;
    while (elapsedForHolder(m.now, end) > 0ns) {
      const std::string did = m.toWakeup();
      if (did == "read") m.answerRead(std::optional{record()});
      if (did == "acquire") return;
    }
  }
  MachineHarness m;
};

TEST_F(Vacancy, isExpectedOnceWhenTheHolderHasNotRenewedForHalfOfItsLease) {
  m.becomeReading();
  m.answerRead(std::optional{othersRecord("v1", 41)});
  const Instant seen = m.now;
  readUntil(20s, [] { return othersRecord("v1", 41); });
  ASSERT_EQ(m.vacancies.size(), 1U);
  EXPECT_GE(m.vacancies[0], 1s) << "time to warm up";
  EXPECT_LE(m.vacancies[0], 5s + 100ms);
  EXPECT_GE(elapsedForHolder(seen, m.now), 10s) << "it makes nothing quicker (I3)";
}

TEST_F(Vacancy, isNeverExpectedWhileTheHolderRenews) {
  m.becomeReading();
  m.answerRead(std::optional{othersRecord("v0", 41)});
  const Instant from = m.now;
  readUntil(200s, [&] { return othersRecord("v" + std::to_string(elapsedForHolder(from, m.now) / 4s), 41); });
  EXPECT_TRUE(m.vacancies.empty());
}

/// Each silence is another one, and the holder may renew after all.
TEST_F(Vacancy, isExpectedAgainAfterARenewalThatCameLate) {
  m.becomeReading();
  m.answerRead(std::optional{othersRecord("v1", 41)});
  readUntil(6s, [] { return othersRecord("v1", 41); });
  EXPECT_EQ(m.vacancies.size(), 1U);
  readUntil(9s, [] { return othersRecord("v2", 41); });
  EXPECT_EQ(m.vacancies.size(), 2U);
}

TEST_F(Vacancy, isExpectedAtOnceWhenTheHolderReleases) {
  m.becomeReading();
  m.answerRead(std::optional{othersRecord("v1", 41)});
  ASSERT_EQ(m.step(event::StoreHint{}), "read");
  m.answerRead(std::optional{releasedRecord("v2", 41)});
  ASSERT_EQ(m.vacancies.size(), 1U);
  EXPECT_LT(m.vacancies[0], 100ms) << "only the jitter of a race";
}

/// The first look at a free lease shows no end of a leader, and what this candidate led itself needs no warm-up.
TEST_F(Vacancy, isNotExpectedWhereNobodyWasSeenToLead) {
  m.becomeReading();
  m.answerRead(std::optional{releasedRecord("v2", 41)});
  EXPECT_TRUE(m.vacancies.empty());
}

}  // namespace
}  // namespace tenure::test
