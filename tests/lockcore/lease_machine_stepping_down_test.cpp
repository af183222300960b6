// What LeaseMachine promises, I9 to I11: the order at the end of a term, and that nothing but Stop ends the candidacy.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

// ---- I9: order on stepping down ----

/// Stop signal, end of the work, the renewal's outcome, and then the release with the final version.
TEST(I9OrderOnSteppingDown, nothingIsReleasedBeforeTheWorkEnded) {
  MachineHarness m;
  m.becomeRenewing();
  EXPECT_EQ(m.step(event::Stop{}), "publish(ends) revoked(stopped)");
  m.now = m.now + 1s;
  EXPECT_EQ(m.step(event::WorkEnded{}), "publish(none)");
  const LeaseRecord renewed = m.written();
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{1}}), "release");
  EXPECT_EQ(m.expected(), renewed.version.text());
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{1}}), "leader(none) unfollow stopped(released)");
  EXPECT_EQ(m.machine.untilWakeup(m.now), std::nullopt);
}

/// Nothing has to end before the release. What the work waits for is missing until WorkEnded, so no term begins before.
TEST(I9OrderOnSteppingDown, aTermWithoutWorkIsReleasedAndNoneFollowsUntilWorkCanBegin) {
  MachineHarness m;
  m.becomeLeading();
  EXPECT_EQ(m.step(event::WorkFailed{"no thread", RevokeReason::notStarted, false}),
            "publish(ends) revoked(notStarted) publish(none) release");
  EXPECT_EQ(m.machine.lastError()->message, "no thread");
  EXPECT_EQ(m.step(event::WorkFailed{"again", RevokeReason::notStarted, false}), "") << "it was told before";
  const LeaseRecord released = m.written();
  std::string did = m.answerWrite(Applied{FencingToken{1}});
  const auto goOn = [&] {
    did = did.find("read") != std::string::npos ? m.answerRead(released) : m.toWakeup();
    return did;
  };
  for (int i = 0; i < 50; ++i) ASSERT_EQ(goOn().find("acquire"), std::string::npos) << did;
  m.step(event::WorkEnded{});
  for (int i = 0; i < 5 && did.find("acquire") == std::string::npos; ++i) goOn();
  EXPECT_NE(did.find("acquire"), std::string::npos) << did;
}

TEST(I9OrderOnSteppingDown, theLeaseIsRenewedWhileTheWorkEnds) {
  LeaseOptions options = tenSecondLease();
  options.drainTimeout = 60s;
  MachineHarness m{options};
  m.becomeLeading();
  m.step(event::Stop{});
  int renewals = 0;
  while (elapsedForHolder(m.published().anchor, m.now) < 10s && renewals < 15) {
    ASSERT_EQ(m.toWakeup(), "renew");
    ASSERT_EQ(m.answerWrite(Applied{FencingToken{1}}), "publish(ends)");
    ++renewals;
  }
  EXPECT_EQ(m.step(event::WorkEnded{}), "publish(none) release");
}

TEST(I9OrderOnSteppingDown, workThatDoesNotEndIsNotReleasedOver) {
  MachineHarness m;
  m.becomeLeading();
  const Instant stopped = m.now;
  m.step(event::Stop{});
  std::string did;
  while (m.state() != LeaseState::stopped) {
    did = m.toWakeup();
    ASSERT_EQ(did.find("release"), std::string::npos);
    if (did == "renew") m.answerWrite(Applied{FencingToken{1}});
  }
  EXPECT_EQ(did, "log unfollow stopped(notDrained)");
  EXPECT_EQ(elapsedForHolder(stopped, m.now), 10s);
  EXPECT_EQ(m.step(event::WorkEnded{}), "") << "too late";
}

TEST(I9OrderOnSteppingDown, aLeaseThatRanOutWhileTheWorkEndedIsNotReleased) {
  MachineHarness m;
  m.becomeLeading();
  m.step(event::Stop{});
  m.now = m.now + 9995ms;
  EXPECT_EQ(m.wake(), "log publish(none)");
  EXPECT_EQ(m.state(), LeaseState::candidate);
  EXPECT_EQ(m.step(event::WorkEnded{}), "unfollow stopped(notHeld)");
}

TEST(I9OrderOnSteppingDown, noNewTermBeforeTheWorkOfTheLastOneEnded) {
  MachineHarness m;
  m.becomeLeading();
  const LeaseRecord own = m.written();
  m.now = m.now + 20s;
  m.wake();
  EXPECT_TRUE(m.machine.workRunning());
  m.answerRead(std::optional{own});
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(m.toWakeup(), "read");
    m.answerRead(std::optional{own});
  }
  std::string did = m.step(event::WorkEnded{});
  if (did.empty()) did = m.toWakeup();
  EXPECT_EQ(did, "acquire");
}

TEST(I9OrderOnSteppingDown, stopWhileTheAcquisitionIsUnderWayReleasesWhatItWins) {
  MachineHarness m;
  m.becomeAcquiring();
  const std::string version = m.written().version.text();
  EXPECT_EQ(m.step(event::Stop{}), "");
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{1}}), "publish(none) release");
  EXPECT_EQ(m.expected(), version);
  EXPECT_EQ(m.elections(), 0U);
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{1}}), "unfollow stopped(released)");
}

TEST(I9OrderOnSteppingDown, stopWhileTheAcquisitionFails) {
  const auto stopped = [](const WriteOutcome& outcome) {
    MachineHarness m;
    m.becomeAcquiring();
    m.step(event::Stop{});
    return m.answerWrite(outcome);
  };
  EXPECT_EQ(stopped(Rejected{transientError()}), "unfollow stopped(notHeld)");
  EXPECT_EQ(stopped(Conflict{std::optional{othersRecord()}}), "leader(b#2) unfollow stopped(notHeld)");
  EXPECT_EQ(stopped(Conflict{}), "publish(none) release") << "nobody knows what is there";
  EXPECT_EQ(stopped(Unknown{transientError()}), "publish(none) release") << "it may have won, or may still";
}

TEST(I9OrderOnSteppingDown, stopAfterALostAcquisitionReleasesIt) {
  MachineHarness m;
  m.becomeAcquiring();
  const std::string version = m.written().version.text();
  m.answerWrite(Unknown{transientError()});
  EXPECT_EQ(m.step(event::Stop{}), "publish(none)") << "the read under way is awaited";
  EXPECT_EQ(m.answerRead(absent), "release");
  EXPECT_EQ(m.expected(), version);
}

/// It is conditioned on the absence of the record. A foreign client, whose records have no token, deletes its own.
TEST(I9OrderOnSteppingDown, aLostFirstAcquisitionMayArriveAfterAForeignDeletion) {
  const auto stoppedBeside = [](std::uint64_t token) {
    MachineHarness m;
    m.becomeAcquiring();
    m.answerWrite(Unknown{transientError()});
    m.step(event::Stop{});
    m.answerRead(absent);
    return m.answerWrite(Conflict{std::optional{othersRecord("other-1", token)}});
  };
  EXPECT_EQ(stoppedBeside(0), "log unfollow stopped(unknown)");
  EXPECT_EQ(stoppedBeside(5), "unfollow stopped(notHeld)") << "no holder of this library deletes";
}

/// The counter states the same open term again when the foreign client releases.
TEST(I9OrderOnSteppingDown, aLostAcquisitionOfADeletedRecordMayArriveAfterAForeignDeletion) {
  MachineHarness m;
  m.becomeReading();
  const std::optional<LeaseRecord> deleted{vanishedRecord(FencingToken{7}, 10s)};
  m.answerRead(deleted);
  ASSERT_EQ(readUntilElse(m, deleted), "acquire");
  m.answerWrite(Unknown{transientError()});
  m.step(event::Stop{});
  m.answerRead(deleted);
  EXPECT_EQ(m.answerWrite(Conflict{std::optional{othersRecord("other-1", 0)}}), "log unfollow stopped(unknown)");
}

/// Of two acquisitions of an absent record the second one won; the first is still under way.
void leadBesideAnUnansweredAcquisition(MachineHarness& m) {
  m.becomeAcquiring();
  m.answerWrite(Unknown{transientError()});
  m.answerRead(absent);
  EXPECT_EQ(readUntilElse(m, absent), "acquire");
  m.answerWrite(Applied{FencingToken{1}});
  EXPECT_EQ(m.state(), LeaseState::leading);
}

TEST(I9OrderOnSteppingDown, aSecondAcquisitionMayArriveAfterAForeignHolderDeletesItsOwn) {
  const auto releasedBeside = [](const std::optional<LeaseRecord>& current) {
    MachineHarness m;
    leadBesideAnUnansweredAcquisition(m);
    m.step(event::Stop{});
    m.step(event::WorkEnded{});
    return m.answerWrite(Conflict{current});
  };
  EXPECT_EQ(releasedBeside(othersRecord("other-1", 0)), "log leader(none) unfollow stopped(unknown)");
  EXPECT_EQ(releasedBeside(std::nullopt), "log leader(none) unfollow stopped(unknown)");
  EXPECT_EQ(releasedBeside(othersRecord("other-1", 5)), "leader(none) unfollow stopped(notHeld)")
      << "no holder of this library deletes";
}

/// The term was lost to that holder before the stop.
TEST(I9OrderOnSteppingDown, stopUnderAForeignHolderKeepsAnOldUnansweredAcquisition) {
  const auto stoppedBeside = [](std::uint64_t token) {
    MachineHarness m;
    leadBesideAnUnansweredAcquisition(m);
    m.after(3s);
    m.answerWrite(Conflict{std::optional{othersRecord("other-1", token)}});
    m.step(event::WorkEnded{});
    m.answerRead(othersRecord("other-1", token));
    return m.step(event::Stop{});
  };
  EXPECT_EQ(stoppedBeside(0), "unfollow stopped(unknown)");
  EXPECT_EQ(stoppedBeside(5), "unfollow stopped(notHeld)");
}

TEST(I9OrderOnSteppingDown, stopWhileAPoliteEndIsUnderWayEndsForGood) {
  MachineHarness m;
  m.becomeDraining();
  EXPECT_EQ(m.step(event::Stop{}), "");
  EXPECT_EQ(m.step(event::WorkEnded{}), "publish(none) release");
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{1}}), "leader(none) unfollow stopped(released)");
}

TEST(I9OrderOnSteppingDown, stopOfACandidateWhoseLastWorkStillRunsWaitsForItWithinBounds) {
  MachineHarness m;
  m.becomeLeading();
  m.now = m.now + 20s;
  m.wake();
  EXPECT_EQ(m.step(event::Stop{}), "");
  EXPECT_EQ(m.after(9s), "") << "the read under way was given up; nothing new is begun";
  EXPECT_EQ(m.toWakeup(), "unfollow stopped(notDrained)");
}

// ---- I10: only Stop ends the candidacy ----

/// Errors of every kind, for as long as they last, and lost races.
TEST(I10CompetesUntilStop, noErrorEndsTheCandidacy) {
  for (const ErrorClass errorClass : {ErrorClass::transient, ErrorClass::throttled, ErrorClass::credentials,
                                      ErrorClass::misconfigured, ErrorClass::corrupt}) {
    MachineHarness m;
    m.becomeReading();
    for (int i = 0; i < 200; ++i) {
      m.answerRead(StoreError{errorClass, "no"});
      ASSERT_EQ(m.toWakeup(), "read");
    }
    m.answerRead(absent);
    m.toWakeup();
    EXPECT_EQ(m.answerWrite(Applied{FencingToken{1}}), "publish(leads) leader(self) elected(1)");
  }
}

TEST(I10CompetesUntilStop, fiftyLostRacesAreNormal) {
  MachineHarness m;
  m.becomeReading();
  m.answerRead(std::optional{releasedRecord("v0")});
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(m.toWakeup(), "acquire");
    ASSERT_EQ(m.state(), LeaseState::acquiring);
    m.answerWrite(Conflict{std::optional{releasedRecord("v" + std::to_string(i + 1))}});
  }
  EXPECT_EQ(m.toWakeup(), "acquire");
  EXPECT_EQ(m.expected(), "v50");
}

TEST(I10CompetesUntilStop, afterALossItIsACandidateAgain) {
  MachineHarness m;
  m.becomeRenewing();
  m.answerWrite(Conflict{std::optional{othersRecord()}});
  const Instant seen = m.now;
  m.step(event::WorkEnded{});
  EXPECT_EQ(readUntilElse(m, othersRecord()), "acquire");
  EXPECT_GE(elapsedForChallenger(seen, m.now), 10s);
  EXPECT_LE(elapsedForChallenger(seen, m.now), 10s + 5ms);
}

/// Fault T13: After the record vanished, its former holder leads again at once, with a higher token.
TEST(I10CompetesUntilStop, theFormerHolderOfAVanishedRecordTakesItAgain) {
  MachineHarness m;
  m.becomeLeading(4);
  m.after(3s);
  m.answerWrite(Conflict{absent});
  EXPECT_EQ(m.revocations().back().reason, RevokeReason::recordMissing);
  m.step(event::WorkEnded{});
  m.answerRead(absent);
  const Instant seen = m.now;
  EXPECT_EQ(readUntilElse(m, absent), "acquire");
  EXPECT_LE(elapsedForHolder(seen, m.now), 5ms);
  EXPECT_EQ(m.write().tokenFloor, FencingToken{4});
}

/// The last error is shown with its time; a new doubt never shows an old error.
TEST(I10CompetesUntilStop, errorsAreShownAndAreNotStale) {
  MachineHarness m;
  m.becomeReading();
  m.answerRead(StoreError{ErrorClass::credentials, "an old story"});
  m.toWakeup();
  m.answerRead(absent);
  m.toWakeup();
  m.answerWrite(Applied{FencingToken{1}});
  const LeaseRecord own = m.written();
  EXPECT_EQ(m.machine.lastError()->message, "an old story");
  m.after(3s);
  m.answerWrite(Conflict{});
  m.answerRead(std::optional{own});
  EXPECT_EQ(m.machine.lastError()->message, "the renewal did not arrive");
  EXPECT_EQ(m.machine.lastErrorAt(), m.now);
}

// ---- I11: what is not understood is never success ----

TEST(I11FailsClosed, noErrorOfAnyKindMakesATerm) {
  for (const ErrorClass errorClass : {ErrorClass::transient, ErrorClass::throttled, ErrorClass::credentials,
                                      ErrorClass::misconfigured, ErrorClass::corrupt}) {
    for (const WriteOutcome& outcome :
         {WriteOutcome{Rejected{{errorClass, "x"}}}, WriteOutcome{Unknown{{errorClass, "x"}}}}) {
      MachineHarness m;
      m.becomeAcquiring();
      m.answerWrite(outcome);
      EXPECT_EQ(m.elections(), 0U);
      EXPECT_FALSE(m.published().validAt(m.now));
    }
  }
}

/// What stepDown() promises: "not taken again for one lease, so that others get it". This also holds if the work did
/// not end in time, so that nothing could be released.
TEST(StepDown, aTermThatCouldNotBeReleasedIsNotTakenAgainForOneLeaseEither) {
  MachineHarness m;
  m.becomeLeading();
  LeaseRecord own = m.written();
  m.step(event::StepDown{"maintenance"});
  while (m.state() == LeaseState::draining) {
    if (m.toWakeup() != "renew") continue;
    m.answerWrite(Applied{FencingToken{1}});
    own = m.written();
  }
  ASSERT_EQ(m.state(), LeaseState::candidate);
  const Instant ended = m.now;
  m.step(event::WorkEnded{});
  m.answerRead(std::optional{own});
  while (m.toWakeup() == "read") m.answerRead(std::optional{own});
  EXPECT_EQ(m.state(), LeaseState::acquiring);
  EXPECT_GE(elapsedForChallenger(ended, m.now), 10s);
}

}  // namespace
}  // namespace tenure::test
