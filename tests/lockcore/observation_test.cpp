// What a challenger knows, and when a lease is free by that knowledge (I3).
#include "lockcore/lease/observation.hpp"

#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

class ObservationTest : public ::testing::Test {
 protected:
  bool see(const std::optional<LeaseRecord>& record, bool written = false) {
    return observation.confirm(now, record, written);
  }
  [[nodiscard]] std::optional<nanoseconds> untilFree(nanoseconds politeness = 0ms) const {
    return observation.untilFree(now, politeness);
  }
  void pass(nanoseconds d) { now = now + d; }

  Instant now{1h, 2h, 3h};
  Observation observation;
};

TEST_F(ObservationTest, nothingIsKnownAtFirst) {
  EXPECT_FALSE(observation.known());
  EXPECT_EQ(untilFree(), std::nullopt);
}

TEST_F(ObservationTest, theWaitIsTheDurationInTheRecordFromTheFirstSighting) {
  EXPECT_TRUE(see(othersRecord("v1", 1, 7s)));
  EXPECT_EQ(untilFree(), 7s);
  pass(3s);
  EXPECT_FALSE(see(othersRecord("v1", 1, 7s))) << "the same version is no news";
  EXPECT_EQ(untilFree(), 4s);
  EXPECT_EQ(untilFree(250ms), 4250ms) << "politeness comes on top";
  pass(5s);
  EXPECT_EQ(untilFree(), -1s);
}

TEST_F(ObservationTest, anyChangeStartsTheWaitAnew) {
  const LeaseRecord first = othersRecord("v1", 1, 7s);
  const auto changed = [&](auto change) {
    LeaseRecord record = first;
    change(record);
    return record;
  };
  const LeaseRecord changes[] = {
      changed([](LeaseRecord& r) { r.version = RecordVersion{"v2"}; }),
      changed([](LeaseRecord& r) { r.holder = "c#3"; }),
      changed([](LeaseRecord& r) { r.token = FencingToken{2}; }),
      changed([](LeaseRecord& r) { r.leaseDuration = 8s; }),
  };
  for (const LeaseRecord& record : changes) {
    observation.forget({});
    see(first);
    pass(6s);
    EXPECT_TRUE(see(record));
    EXPECT_EQ(untilFree(), record.leaseDuration);
  }
}

TEST_F(ObservationTest, displayTimesAndPayloadAreNoSignOfLife) {
  LeaseRecord record = othersRecord();
  see(record);
  pass(1s);
  record.renewedAtMillis += 1000;
  record.data = "x";
  EXPECT_FALSE(see(record));
}

TEST_F(ObservationTest, theChallengersClockRuleMeasures) {
  see(othersRecord());
  const Instant seen = now;
  now = {seen.raw + 9s, seen.monotonic + 11s, seen.boottime + 100s};
  EXPECT_EQ(untilFree(), 1s);
  now = {seen.raw + 11s, seen.monotonic + 9s, seen.boottime + 100s};
  EXPECT_EQ(untilFree(), 1s);
}

TEST_F(ObservationTest, absentOrReleasedIsFreeAtOnce) {
  see(std::nullopt);
  EXPECT_EQ(untilFree(5ms), 5ms);
  EXPECT_TRUE(observation.expected().empty());
  see(releasedRecord("v9"));
  EXPECT_EQ(untilFree(5ms), 5ms);
  EXPECT_EQ(observation.expected(), std::vector{RecordVersion{"v9"}});
  EXPECT_FALSE(observation.heldByOther());
}

TEST_F(ObservationTest, proofOfDeathFreesTheLeaseOfThatLivenessFileOnly) {
  LeaseRecord record = othersRecord();
  record.livenessFile = LivenessFile{"beacon-1", "boot", 1, 2};
  see(record);
  pass(1s);
  observation.provenDead(now, "beacon-2");
  EXPECT_EQ(untilFree(), 9s);
  observation.provenDead(now, "beacon-1");
  EXPECT_EQ(untilFree(5ms), 5ms);
  pass(3ms);
  observation.provenDead(now, "beacon-1");
  EXPECT_EQ(untilFree(5ms), 2ms) << "told twice, it still counts from the first time";
  record.livenessFile->id = "beacon-3";
  record.version = RecordVersion{"other-2"};
  see(record);
  EXPECT_EQ(untilFree(), 10s) << "another process holds it now";
  record.livenessFile.reset();
  see(record);
  EXPECT_EQ(untilFree(), 10s);
}

TEST_F(ObservationTest, aLivenessFileWithoutAnIdProvesNothing) {
  LeaseRecord record = othersRecord();
  record.livenessFile = LivenessFile{};
  see(record);
  EXPECT_EQ(untilFree(), 10s);
  observation.provenDead(now, "");
  EXPECT_EQ(untilFree(), 10s);
}

TEST_F(ObservationTest, whatThisCandidateWroteHasNoOtherOwnerToWaitFor) {
  see(othersRecord(), true);
  EXPECT_TRUE(observation.heldBySelf());
  EXPECT_FALSE(observation.heldByOther());
  EXPECT_EQ(untilFree(5ms), 0s);
}

TEST_F(ObservationTest, forgottenMeansThatTheWaitBeginsAgain) {
  see(othersRecord());
  pass(9s);
  observation.forget({});
  EXPECT_EQ(untilFree(), std::nullopt);
  EXPECT_TRUE(see(othersRecord()));
  EXPECT_EQ(untilFree(), 10s);
}

// ---- the record of a living holder vanishes (TTL, an operator, a replaced table) ----

/// Our writers never delete a record. So its disappearance says nothing about its holder, which notices it only at its
/// next renewal.
TEST_F(ObservationTest, aVanishedRecordIsWaitedOutBecauseItsHolderMayStillLead) {
  see(othersRecord("v1", 5, 10s));
  pass(2s);
  EXPECT_TRUE(see(std::nullopt));
  EXPECT_FALSE(observation.heldByOther());
  EXPECT_EQ(untilFree(5ms), 10s + 5ms) << "it may have been renewed just before";
  pass(4s);
  EXPECT_FALSE(see(std::nullopt));
  EXPECT_EQ(untilFree(), 6s);
}

TEST_F(ObservationTest, aVanishedRecordWithoutATokenWasReleased) {
  see(othersRecord("v1", 0, 10s));  // the Java client: no token, and it releases by deleting
  pass(2s);
  see(std::nullopt);
  EXPECT_EQ(untilFree(5ms), 5ms);
}

/// client-go marks the record when it releases. Then it was an operator who deleted it.
TEST_F(ObservationTest, aVanishedRecordOfAClientThatDeletesNoneIsWaitedOut) {
  LeaseRecord record = othersRecord("v1", 0, 10s);
  record.keptAtRelease = true;
  see(record);
  pass(2s);
  see(std::nullopt);
  EXPECT_EQ(untilFree(5ms), 10s + 5ms);
  see(record);
  see(vanishedRecord(FencingToken{5}, 8s));
  EXPECT_EQ(untilFree(), 10s);
}

/// Its own last term is what the counter states, and client-go has led since.
TEST_F(ObservationTest, anOwnTermThatTheCounterStatesDoesNotHideTheRecordThatVanished) {
  LeaseRecord record = othersRecord("v1", 0, 10s);
  record.keptAtRelease = true;
  see(record);
  pass(2s);
  see(vanishedRecord(FencingToken{5}, 8s), true);
  EXPECT_EQ(untilFree(5ms), 10s + 5ms);
  pass(1s);
  see(vanishedRecord(FencingToken{5}, 8s), true);
  EXPECT_EQ(untilFree(5ms), 9s + 5ms) << "nor at the next look";
}

/// Somebody may have taken over after the record was seen last, and may lead now.
TEST_F(ObservationTest, aVanishedRecordIsWaitedOutAlsoIfItWasFree) {
  see(releasedRecord());
  see(std::nullopt);
  EXPECT_EQ(untilFree(), 10s);

  observation.forget({});
  LeaseRecord record = othersRecord();
  record.livenessFile = LivenessFile{"beacon-1", "boot", 1, 2};
  see(record);
  observation.provenDead(now, "beacon-1");
  see(std::nullopt);
  EXPECT_EQ(untilFree(), 10s);

  observation.forget({});
  see(othersRecord(), true);
  see(std::nullopt);
  EXPECT_EQ(untilFree(), 10s);
}

/// An operator deletes a row that nobody could read any more: its holder may still lead.
TEST_F(ObservationTest, aRecordThatVanishedWhileItWasNotUnderstoodIsWaitedOut) {
  see(othersRecord());
  pass(20s);
  observation.distrust();
  EXPECT_EQ(untilFree(), std::nullopt);
  see(std::nullopt);
  EXPECT_EQ(untilFree(), 10s);
  pass(6s);
  observation.distrust();
  see(std::nullopt);
  EXPECT_EQ(untilFree(), 10s) << "whatever was not understood may have been a record again";

  observation.forget({});
  see(othersRecord());
  pass(20s);
  observation.distrust();
  EXPECT_TRUE(see(othersRecord()));
  EXPECT_EQ(untilFree(), 10s) << "seen anew";
}

TEST_F(ObservationTest, anOpenTermOfTheCounterIsWaitedOutFromItsFirstSighting) {
  const LeaseRecord open = vanishedRecord(FencingToken{7}, 8s);
  EXPECT_TRUE(see(open));
  EXPECT_TRUE(observation.absent());
  EXPECT_FALSE(observation.heldByOther());
  EXPECT_EQ(observation.expected(), std::vector{vanishedVersion(FencingToken{7}, 8s)});
  EXPECT_EQ(untilFree(5ms), 8s + 5ms);
  pass(3s);
  EXPECT_FALSE(see(open));
  EXPECT_EQ(untilFree(), 5s);
  EXPECT_TRUE(see(vanishedRecord(FencingToken{8}, 8s))) << "another term";
  EXPECT_EQ(untilFree(), 8s);
}

TEST_F(ObservationTest, ofARecordThatVanishedAndItsCounterTheLongerLeaseIsWaitedOut) {
  for (const auto& [seen, stated] : {std::pair{10s, 8s}, std::pair{8s, 10s}}) {
    observation.forget({});
    see(othersRecord("v1", 5, seen));
    pass(2s);
    see(vanishedRecord(FencingToken{5}, stated));
    EXPECT_EQ(untilFree(), 10s);
  }
}

TEST_F(ObservationTest, afterARecordWithoutATokenTheCounterIsNotWaitedFor) {
  see(othersRecord("v0", 5, 10s));
  see(othersRecord("v1", 0, 10s));  // its client takes over without the counter, and releases by deleting
  see(vanishedRecord(FencingToken{5}, 10s));
  EXPECT_EQ(untilFree(5ms), 5ms);
  observation.forget({});
  see(othersRecord("v1", 0, 10s));
  observation.distrust();
  see(vanishedRecord(FencingToken{5}, 10s));
  EXPECT_EQ(untilFree(), 10s) << "what was not understood may have been a record of ours";
}

TEST_F(ObservationTest, aTermThatMayHaveComeAfterARecordWithoutATokenIsWaitedFor) {
  see(othersRecord("v1", 0, 10s));
  see(vanishedRecord(FencingToken{5}, 8s));
  EXPECT_EQ(untilFree(), 10s) << "nothing tells that it was over when the other make's client took the lease";
  see(othersRecord("v2", 0, 10s));
  see(vanishedRecord(FencingToken{5}, 8s));
  EXPECT_EQ(untilFree(), 0s) << "it was known of when that client was seen";
  see(othersRecord("v3", 0, 10s));
  see(vanishedRecord(FencingToken{6}, 8s));
  EXPECT_EQ(untilFree(), 10s);
}

TEST_F(ObservationTest, anOpenTermOfOnesOwnIsNotWaitedFor) {
  see(vanishedRecord(FencingToken{7}, 8s), true);
  EXPECT_FALSE(observation.heldByOther());
  EXPECT_EQ(untilFree(5ms), 0s);
}

TEST_F(ObservationTest, aCounterThatIsClearedOrLostIsWaitedOutAllTheSame) {
  see(vanishedRecord(FencingToken{7}, 8s));
  pass(2s);
  see(std::nullopt);
  EXPECT_EQ(untilFree(), 8s);
}

TEST_F(ObservationTest, aRecordThatComesBackEndsTheWaitForTheVanishedOne) {
  see(othersRecord("v1", 5, 10s));
  see(std::nullopt);
  see(releasedRecord("v2", 6));
  EXPECT_EQ(untilFree(), 0s);
  see(othersRecord("v3", 7, 4s));
  observation.forget({});
  see(std::nullopt);
  EXPECT_EQ(untilFree(), 0s) << "nothing was known";
}

LeaseRecord inherited(LeaseRecord record, const std::string& history) {
  record.version = RecordVersion{record.version.text(), history};
  record.inherited = true;
  return record;
}

TEST_F(ObservationTest, aNewHistoryStartsTheWaitAnew) {
  LeaseRecord record = othersRecord("v1", 1, 7s);
  record.version = RecordVersion{"v1", "4/1"};
  see(record);
  pass(6s);
  EXPECT_TRUE(see(inherited(record, "4/2"))) << "newer versions may be lost";
  EXPECT_EQ(untilFree(), 7s);
  pass(6s);
  EXPECT_TRUE(see(inherited(record, "4/3"))) << "and those of the second history too";
  EXPECT_EQ(untilFree(), 7s);
  pass(1s);
  EXPECT_FALSE(see(inherited(record, "4/3")));
  EXPECT_EQ(untilFree(), 6s);
  ASSERT_EQ(observation.expected().size(), 1U);
  EXPECT_EQ(observation.expected().front().history(), "4/3") << "the acquisition holds for this history alone";
}

TEST_F(ObservationTest, anInheritedRecordIsFreeAfterItsLeaseAlone) {
  see(inherited(releasedRecord("v2", 6), "4/2"));
  EXPECT_EQ(untilFree(), releasedRecord("v2", 6).leaseDuration) << "somebody may have taken it since";
  see(inherited(othersRecord("v3", 7, 4s), "4/2"), true);
  EXPECT_FALSE(observation.heldBySelf());
  EXPECT_EQ(untilFree(), 4s) << "somebody may have taken it from this candidate";
  see(inherited(vanishedRecord(FencingToken{8}, 5s), "4/2"), true);
  EXPECT_EQ(untilFree(), 5s);
}

TEST_F(ObservationTest, anInheritedCounterIsWaitedForEvenAfterAReleaseWithoutAToken) {
  see(othersRecord("v1", 9, 7s));
  see(releasedRecord("mine", 0), true);  // of an acquisition whose token this candidate does not know
  see(inherited(vanishedRecord(FencingToken{5}, 12s), "4/2"));
  EXPECT_EQ(untilFree(), 12s) << "a term with a higher token may be lost, and valid";
}

TEST_F(ObservationTest, aDeadHolderOfAnInheritedRecordIsWaitedFor) {
  LeaseRecord record = othersRecord("v1", 1, 7s);
  record.livenessFile = LivenessFile{"beef", "boot", 1, 2};
  see(record);
  observation.provenDead(now, "beef");
  EXPECT_EQ(untilFree(), 0s);
  see(inherited(record, "4/2"));
  EXPECT_EQ(untilFree(), 7s) << "another one may have taken the lease from it";
}

TEST_F(ObservationTest, anInheritedReleaseIsNotHandedOn) {
  Observation predecessor;
  predecessor.confirm(now, inherited(releasedRecord("v2", 6), "4/2"), true);
  EXPECT_FALSE(observation.adoptReleased(now, predecessor));
}

LeaseRecord pauseOfAnHour() {
  LeaseRecord record = othersRecord("pause", 9, 60min);
  record.holder = "paused by alice@db1: maintenance#2";
  return record;
}

/// An operator's pause is such a term: nobody renews it.
TEST_F(ObservationTest, aTermThatTheStoreHasLostIsWaitedOutByWhoSawIt) {
  see(pauseOfAnHour());
  pass(45min);
  see(pauseOfAnHour());
  see(inherited(releasedRecord("before", 8), "4/2"));
  ASSERT_TRUE(observation.lost());
  EXPECT_EQ(observation.lost()->token, FencingToken{9});
  EXPECT_EQ(untilFree(), 15min) << "it was seen for 45 minutes, and was not renewed";
  pass(15min);
  see(inherited(releasedRecord("before", 8), "4/2"));
  EXPECT_LE(untilFree(), 0s) << "it ends when it was to end";
}

TEST_F(ObservationTest, aLostTermThatMayHaveBeenRenewedHasAllOfItsLeaseAhead) {
  see(othersRecord("v1", 9, 60s));
  pass(20s);
  see(inherited(othersRecord("before", 8, 10s), "4/2"));
  EXPECT_EQ(untilFree(), 60s) << "its next renewal may be lost as well";
  pass(10s);
  EXPECT_EQ(untilFree(5ms), 50s + 5ms);
}

/// Half a lease without a renewal is no proof: the next one may have come just before the loss.
TEST_F(ObservationTest, aRenewedLostTermHasItsWholeLeaseAheadHoweverLongSilent) {
  see(othersRecord("v1", 9, 60s));
  pass(5s);
  see(othersRecord("v2", 9, 60s));
  pass(40s);
  see(othersRecord("v2", 9, 60s));
  see(inherited(othersRecord("before", 8, 10s), "4/2"));
  EXPECT_EQ(untilFree(), 60s);
}

/// Its election may have come late, and the first renewal just before the loss.
TEST_F(ObservationTest, anUnrenewedLostTermHasItsWholeLeaseAheadUnlessItIsAPause) {
  see(othersRecord("v1", 9, 60s));
  pass(55s);
  see(othersRecord("v1", 9, 60s));
  see(inherited(othersRecord("before", 8, 10s), "4/2"));
  EXPECT_EQ(untilFree(), 60s);
}

TEST_F(ObservationTest, aPromotionThatKeepsAPauseDoesNotRenewIt) {
  see(pauseOfAnHour());
  pass(5min);
  see(inherited(pauseOfAnHour(), "4/2"));
  pass(40min);
  see(inherited(pauseOfAnHour(), "4/2"));
  see(inherited(releasedRecord("before", 8), "4/3"));
  EXPECT_EQ(untilFree(), 20min);
}

TEST_F(ObservationTest, aLostRenewalThatMadeTheLeaseLongerIsWaitedOut) {
  see(othersRecord("v1", 9, 10s));
  see(othersRecord("v2", 9, 60s));
  see(inherited(othersRecord("v1", 9, 10s), "4/2"));
  EXPECT_EQ(untilFree(), 60s);
  see(inherited(releasedRecord("v3", 9), "4/2"));
  EXPECT_FALSE(observation.lost()) << "its holder has ended it";
}

TEST_F(ObservationTest, aLeaseThatItsHolderMakesShorterIsNoLoss) {
  see(othersRecord("v1", 9, 60s));
  see(othersRecord("v2", 9, 10s));
  EXPECT_FALSE(observation.lost());
  EXPECT_EQ(untilFree(), 10s);
}

TEST_F(ObservationTest, aSecondLossDoesNotHideTheFirst) {
  see(othersRecord("pause", 9, 60min));
  see(inherited(othersRecord("v8", 8, 10s), "4/2"));
  EXPECT_EQ(untilFree(), 60min);
  pass(1s);
  see(inherited(releasedRecord("v7", 7), "4/3"));
  ASSERT_TRUE(observation.lost());
  EXPECT_EQ(observation.lost()->token, FencingToken{9});
  EXPECT_EQ(untilFree(), 60min - 1s);
}

TEST_F(ObservationTest, anOlderCopyThatWasPutBackLosesATermToo) {
  see(othersRecord("v1", 9, 60s));
  see(releasedRecord("v0", 3));
  EXPECT_EQ(untilFree(), 60s) << "no history says so, but the token has fallen";
  see(othersRecord("v0b", 4, 10s));
  EXPECT_EQ(untilFree(), 60s);
  Observation other;
  other.adopt({othersRecord("v0b", 4, 10s), now, 0ms, FencingToken{9}, observation.lost()});
  EXPECT_EQ(other.untilFree(now, 0ms), 60s) << "handed on to who begins to compete";
}

/// An operator deletes the record, and a promotion brings back the one before.
TEST_F(ObservationTest, aLostTermWhoseRecordHadVanishedIsWaitedOut) {
  const std::optional<LeaseRecord> gone[] = {vanishedRecord(FencingToken{9}, 60s), vanishedRecord(FencingToken{9}, 10s),
                                             absent};
  const LeaseRecord before[] = {othersRecord("before", 8, 30s), releasedRecord("before", 8),
                                vanishedRecord(FencingToken{8}, 30s)};
  for (const auto& vanished : gone) {
    for (const LeaseRecord& older : before) {
      observation = {};
      see(othersRecord("v1", 9, 60s));
      pass(5s);
      see(vanished);
      pass(40s);
      see(inherited(older, "4/2"));
      ASSERT_TRUE(observation.lost());
      EXPECT_EQ(observation.lost()->token, FencingToken{9});
      EXPECT_EQ(untilFree(), 60s) << "it may have been renewed where the deletion was lost, too";
      see(inherited(releasedRecord("first", 7), "4/3"));
      EXPECT_EQ(untilFree(), 60s) << "after a second promotion as well";
    }
  }
}

TEST_F(ObservationTest, aVanishedTermThatComesBackOrEndsIsNotLost) {
  see(othersRecord("v1", 9, 60s));
  see(absent);
  see(inherited(othersRecord("v1", 9, 60s), "4/2"));
  EXPECT_FALSE(observation.lost()) << "the deletion is lost, and not the term";
  observation = {};
  see(othersRecord("v2", 9, 60s));
  see(absent);
  see(inherited(othersRecord("v1", 9, 10s), "4/2"));
  EXPECT_EQ(untilFree(), 60s) << "the renewal that made its lease longer is lost";
  observation = {};
  see(othersRecord("v1", 9, 60s));
  see(absent);
  see(releasedRecord("v2", 9));
  EXPECT_EQ(untilFree(), 0s) << "it has ended";
}

TEST_F(ObservationTest, theReleaseOfALostTermEndsItWhicheverHistoryShowsIt) {
  const auto lose = [&] {
    observation = {};
    see(othersRecord("v1", 9, 60s));
    see(inherited(releasedRecord("before", 8), "4/2"));
    ASSERT_EQ(untilFree(), 60s);
  };
  lose();
  see(releasedRecord("v2", 9));
  EXPECT_EQ(untilFree(), 0s);
  lose();
  see(inherited(releasedRecord("v2", 9), "4/3"));
  EXPECT_EQ(untilFree(), 10s) << "as long as an inherited record is waited for";
  lose();
  see(releasedRecord("v0", 7));
  EXPECT_EQ(untilFree(), 60s) << "the release of an earlier term says nothing";
}

TEST_F(ObservationTest, anOldStateOfATermThatWasSeenToEndOwesNothing) {
  see(releasedRecord("v2", 9));
  see(othersRecord("v1", 9, 60s));
  see(releasedRecord("before", 8));
  EXPECT_FALSE(observation.lost());
  EXPECT_EQ(untilFree(), 0s);
  observation.forget(FencingToken{12});
  see(othersRecord("v3", 11, 60s));
  see(releasedRecord("before", 8));
  EXPECT_EQ(untilFree(), 0s) << "this candidate has held the lease since";
}

/// It was conditioned on a state that a promotion has brought back.
TEST_F(ObservationTest, aLateOwnAcquisitionDoesNotEndTheWaitForALaterTerm) {
  LeaseRecord own = othersRecord("own", std::uint64_t{1} << 40U, 5s);
  LeaseRecord others = othersRecord("v1", 9, 60s);
  own.version = RecordVersion{"own", "4/2"};
  others.version = RecordVersion{"v1", "4/1"};
  see(absent);
  observation.tried();
  see(others);
  EXPECT_TRUE(observation.mayHideATerm(now, own));
  see(own, true);
  EXPECT_EQ(untilFree(), 60s) << "its holder may lead";
  see(othersRecord("v2", own.token.value() + 1, 10s));
  EXPECT_EQ(untilFree(), 10s) << "a later term of another candidate ends the wait";

  observation = {};
  see(others);
  pass(60s);
  observation.tried();
  EXPECT_FALSE(observation.mayHideATerm(now, own));
  see(own, true);
  EXPECT_LE(untilFree(), 0s) << "it was sent when that term had been waited out";

  observation = {};
  see(others);
  own.version = RecordVersion{"own", "4/1"};
  EXPECT_FALSE(observation.mayHideATerm(now, own)) << "within one history that term was removed";

  observation = {};
  see(othersRecord("v1", 9, 60s));
  see(releasedRecord("old", 8));  // an old answer
  own.version = RecordVersion{"own"};
  see(own, true);
  EXPECT_EQ(untilFree(), 0s) << "nor has a store without histories lost it";
}

TEST_F(ObservationTest, anOlderRecordOfOnesOwnIsNotWhatWasAcquiredLast) {
  see(othersRecord("v1", 9, 60s));
  pass(60s);
  observation.tried();
  see(inherited(othersRecord("own", 8, 5s), "4/2"), true);
  EXPECT_EQ(untilFree(), 60s) << "the acquisition was refused by a renewal that is lost";
}

TEST_F(ObservationTest, theReleaseOfAnotherClientOfTheProcessDoesNotHideALaterTerm) {
  Observation predecessor;
  predecessor.confirm(now, releasedRecord("v8", 8), true);
  see(othersRecord("v9", 9, 60s));
  ASSERT_TRUE(observation.adoptReleased(now, predecessor));
  EXPECT_EQ(untilFree(), 60s);
  observation = {};
  predecessor.confirm(now, releasedRecord("v10", 10), true);
  see(othersRecord("v9", 9, 60s));
  ASSERT_TRUE(observation.adoptReleased(now, predecessor));
  EXPECT_EQ(untilFree(), 0s);
}

TEST_F(ObservationTest, aLaterTermTakesThePlaceOfALostOne) {
  see(othersRecord("pause", 9, 60min));
  see(inherited(releasedRecord("before", 8), "4/2"));
  see(othersRecord("v1", 1000, 10s));
  EXPECT_FALSE(observation.lost());
  see(releasedRecord("v2", 1000));
  EXPECT_EQ(untilFree(), 0s) << "as after a second pause that was resumed";
}

TEST_F(ObservationTest, whatWasReleasedOrIsKnownToTheStoreIsNotLost) {
  see(releasedRecord("v9", 9));
  see(inherited(releasedRecord("v8", 8), "4/2"));
  EXPECT_FALSE(observation.lost()) << "it was seen to end";
  observation.forget({});
  see(othersRecord("v9", 9));
  see(inherited(othersRecord("v9", 9), "4/2"));
  EXPECT_FALSE(observation.lost()) << "the standby has it";
  see(othersRecord("java-1", 0));
  EXPECT_FALSE(observation.lost()) << "another client took it, and counts nothing";
}

TEST_F(ObservationTest, aStateMayLackTermsIfItSaysSoOrIfAHigherTokenWasSeen) {
  see(releasedRecord("v5", 5));
  EXPECT_FALSE(observation.lacksTerms(FencingToken{5}));
  EXPECT_TRUE(observation.lacksTerms(FencingToken{6}));
  see(inherited(releasedRecord("v5", 5), "4/2"));
  EXPECT_TRUE(observation.lacksTerms(FencingToken{}));
  see(std::nullopt);
  EXPECT_FALSE(observation.lacksTerms(FencingToken{5})) << "a record that its holder deleted is no loss";
}

}  // namespace
}  // namespace tenure::test
