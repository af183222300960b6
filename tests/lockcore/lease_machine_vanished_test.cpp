// A record is gone, and the store's counter says that its term may still run.
#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

std::optional<LeaseRecord> vanished(std::uint64_t token, std::chrono::milliseconds lease = 10s) {
  return vanishedRecord(FencingToken{token}, lease);
}

LeaseTiming timingOf(std::chrono::milliseconds duration) {
  LeaseOptions options = tenSecondLease();
  options.duration = duration;
  options.heartbeat.reset();
  return LeaseTiming::from(options).value();
}

/// The known gap of stores that reported only that there was no record: the row of a living holder is deleted, and a
/// candidate that was started afterwards takes the lease before that holder's next heartbeat.
TEST(LeaseMachineVanished, aCandidateAfterTheDeletionWaitsForTheLeaseInTheCounter) {
  MachineHarness m;
  m.becomeReading();
  EXPECT_EQ(m.answerRead(vanished(7, 20s)), "leader(none)") << "no leader is known";
  const Instant seen = m.now;
  EXPECT_EQ(readUntilElse(m, vanished(7, 20s)), "acquire");
  EXPECT_GE(elapsedForChallenger(seen, m.now), 20s);
  EXPECT_EQ(m.expected(), "counter:7:20000");
  EXPECT_EQ(m.write().tokenFloor, FencingToken{7});
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{8}}), "publish(leads) leader(self) elected(8)");
}

TEST(LeaseMachineVanished, anAcquisitionOfAnAbsentRecordThatConflictsWithAnOpenTermWaits) {
  MachineHarness m;
  m.becomeAcquiring();
  EXPECT_EQ(m.answerWrite(Conflict{vanished(7)}), "");
  const Instant seen = m.now;
  EXPECT_EQ(readUntilElse(m, vanished(7)), "acquire");
  EXPECT_GE(elapsedForChallenger(seen, m.now), 10s);
}

TEST(LeaseMachineVanished, anotherTermOrALongerLeaseStartsTheWaitAnew) {
  for (const auto& changed : {vanished(8), vanished(7, 12s)}) {
    MachineHarness m;
    m.becomeReading();
    m.answerRead(vanished(7));
    m.now = m.now + 9s;
    m.wake();
    m.answerRead(changed);
    const Instant seen = m.now;
    EXPECT_EQ(readUntilElse(m, changed), "acquire");
    EXPECT_GE(elapsedForChallenger(seen, m.now), changed->leaseDuration);
  }
}

TEST(LeaseMachineVanished, theHolderIsToldThatItsRecordIsMissing) {
  MachineHarness m;
  m.becomeRenewing();
  EXPECT_EQ(m.answerWrite(Conflict{vanished(1)}), "publish(lost) revoked(recordMissing) publish(none) read");
  EXPECT_EQ(m.revocations().back().detail, "the record is gone from the store");
}

TEST(LeaseMachineVanished, itsOwnTermThatIsOverIsNotWaitedFor) {
  MachineHarness m;
  m.becomeRenewing();
  m.answerWrite(Conflict{vanished(1)});
  m.step(event::WorkEnded{});
  const Instant told = m.now;
  EXPECT_EQ(m.answerRead(vanished(1)), "leader(none) acquire");
  EXPECT_EQ(elapsedForChallenger(told, m.now), 0s);
  EXPECT_EQ(m.expected(), "counter:1:10000");
}

TEST(LeaseMachineVanished, aTermAfterItsOwnIsWaitedFor) {
  MachineHarness m;
  m.becomeRenewing();
  m.answerWrite(Conflict{vanished(1)});
  m.step(event::WorkEnded{});
  EXPECT_EQ(m.answerRead(vanished(2)), "leader(none)");
  const Instant seen = m.now;
  EXPECT_EQ(readUntilElse(m, vanished(2)), "acquire");
  EXPECT_GE(elapsedForChallenger(seen, m.now), 10s);
}

/// This machine may have been cloned: its twin continues the same term, and the twin's record is the one that vanished.
void expectTheTermIsWaitedFor(MachineHarness& m) {
  m.step(event::WorkEnded{});
  m.step(event::StoreHint{});
  m.answerRead(vanished(1));
  const Instant seen = m.now;
  for (int i = 0; i < 100 && m.state() != LeaseState::acquiring; ++i) {
    if (m.toWakeup() == "read") m.answerRead(vanished(1));
  }
  EXPECT_EQ(m.expected(), "counter:1:10000");
  EXPECT_GE(elapsedForChallenger(seen, m.now), 10s);
}

TEST(LeaseMachineVanished, aTermThatWasLostToAnotherWriterIsNotItsOwn) {
  MachineHarness m;
  m.becomeRenewing();
  LeaseRecord clones = m.written(1);
  clones.version = RecordVersion{"the clone's"};
  m.answerWrite(Conflict{clones});
  ASSERT_EQ(m.revocations().back().reason, RevokeReason::lost);
  expectTheTermIsWaitedFor(m);
}

TEST(LeaseMachineVanished, aTermThatOnlyExpiredIsNotItsOwn) {
  MachineHarness m;
  m.becomeRenewing();
  m.after(10s);
  ASSERT_EQ(m.revocations().back().reason, RevokeReason::expired);
  expectTheTermIsWaitedFor(m);
}

TEST(LeaseMachineVanished, aTermWhoseReleaseWasNotAnsweredIsNotItsOwn) {
  MachineHarness m;
  m.becomeReleasing();
  for (int i = 0; i < 100 && m.state() == LeaseState::releasing; ++i) m.toWakeup();
  ASSERT_EQ(m.state(), LeaseState::candidate);
  m.after(10s);  // of the cooldown
  expectTheTermIsWaitedFor(m);
}

TEST(LeaseMachineVanished, theNextTermOfThisProcessKnowsItsLastOne) {
  const OneTerm forEver;
  MachineHarness first{tenSecondLease(), forEver};
  first.becomeRenewing();
  first.answerWrite(Conflict{vanished(1)});
  ASSERT_EQ(first.state(), LeaseState::stopped);
  OneTerm next = forEver;
  next.memory = first.memory();
  MachineHarness second{tenSecondLease(), next};
  second.step(event::Start{});
  EXPECT_EQ(second.answerRead(vanished(1)), "leader(none) acquire");
}

TEST(LeaseMachineVanished, mustExistCountsItAsMissing) {
  OneTerm mustExist;
  mustExist.mustExist = true;
  MachineHarness m{tenSecondLease(), mustExist};
  m.step(event::Start{});
  EXPECT_EQ(m.answerRead(vanished(3)), "leader(none) gaveUp(missing) unfollow stopped(notHeld)");
}

/// A listing does not contain vanished records, but a sighting may contain one that a read showed.
TEST(LeaseMachineVanished, aSightingOfItCountsFromWhenItWasSeen) {
  MachineHarness m;
  LeaseSighting sighting{vanished(4), m.now};
  m.now = m.now + 4s;
  event::Start start;
  start.sighting = sighting;
  m.step(start);
  EXPECT_EQ(m.toWakeup(), "read");
  EXPECT_EQ(m.answerRead(vanished(4)), "leader(none)");
  EXPECT_EQ(readUntilElse(m, vanished(4)), "acquire");
  EXPECT_GE(elapsedForChallenger(sighting.since, m.now), 10s);
  EXPECT_LT(elapsedForChallenger(sighting.since, m.now), 11s);
}

// ---- the holder's side: the counter states each longer lease ----

TEST(LeaseMachineVanished, aRenewalThatStatesALongerLeaseSaysSo) {
  MachineHarness m;
  m.becomeLeading();
  m.step(event::Renew{1, timingOf(30s)});
  EXPECT_TRUE(m.write().lengthens);
  m.answerWrite(Unknown{transientError()});
  EXPECT_EQ(readUntilElse(m, m.written()), "renew");
  EXPECT_TRUE(m.write().lengthens) << "until it is known to be there";
  m.answerWrite(Applied{FencingToken{1}});
  EXPECT_EQ(m.toWakeup(), "renew");
  EXPECT_FALSE(m.write().lengthens) << "an ordinary heartbeat";
  m.answerWrite(Applied{FencingToken{1}});
  m.step(event::Renew{2, timingOf(5s)});
  EXPECT_FALSE(m.write().lengthens);
  m.answerWrite(Applied{FencingToken{1}});
  m.step(event::Renew{3, timingOf(30s)});
  EXPECT_FALSE(m.write().lengthens) << "the counter is never lowered, so it states that one still";
  m.answerWrite(Applied{FencingToken{1}});
  m.step(event::Renew{4, timingOf(31s)});
  EXPECT_TRUE(m.write().lengthens);
}

TEST(LeaseMachineVanished, anAcquisitionAndItsHeartbeatsDoNotLengthen) {
  MachineHarness m;
  m.becomeRenewing();
  EXPECT_EQ(m.write().purpose, WriteRequest::Purpose::renew);
  EXPECT_FALSE(m.write().lengthens);
}

}  // namespace
}  // namespace tenure::test
