// Each request x each answer that a store can give.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

constexpr ErrorClass errorClasses[] = {ErrorClass::transient, ErrorClass::throttled, ErrorClass::credentials,
                                       ErrorClass::misconfigured, ErrorClass::corrupt};

/// What the machine reports after an answer, in one line.
std::string told(MachineHarness& m, const WriteOutcome& outcome) {
  const std::string actions = m.answerWrite(outcome);
  return std::string{toString(m.state())} + ": " + actions;
}

std::string told(MachineHarness& m, const ReadOutcome& outcome) {
  const std::string actions = m.answerRead(outcome);
  return std::string{toString(m.state())} + ": " + actions;
}

// ---- a candidate's read ----

TEST(CandidateReadAnswered, heldByAnotherIsWatched) {
  MachineHarness m;
  m.becomeReading();
  EXPECT_EQ(told(m, std::optional{othersRecord()}), "candidate: leader(b#2)");
  EXPECT_EQ(m.machine.leader()->holder, "b#2");
  EXPECT_EQ(m.machine.leader()->token, FencingToken{5});
  EXPECT_FALSE(m.machine.leader()->self);
}

TEST(CandidateReadAnswered, heldByAnotherWithALivenessFileIsFollowed) {
  MachineHarness m;
  m.becomeReading();
  LeaseRecord record = othersRecord();
  record.livenessFile = LivenessFile{"beacon-1", "boot", 1, 2};
  EXPECT_EQ(told(m, std::optional{record}), "candidate: leader(b#2) follow");
  m.step(event::StoreHint{});
  record.version = RecordVersion{"other-2"};
  EXPECT_EQ(told(m, std::optional{record}), "candidate: ") << "the same liveness file is followed already";
  m.step(event::StoreHint{});
  record.livenessFile->id = "beacon-2";
  EXPECT_EQ(told(m, std::optional{record}), "candidate: follow") << "another liveness file";
  m.step(event::StoreHint{});
  EXPECT_EQ(told(m, std::optional{releasedRecord()}), "candidate: leader(none) unfollow");
}

TEST(CandidateReadAnswered, absentOrReleasedIsTakenAfterALittlePoliteness) {
  for (const auto& free : {absent, std::optional{releasedRecord()}}) {
    MachineHarness m;
    m.becomeReading();
    m.answerRead(free);
    ASSERT_LE(m.machine.untilWakeup(m.now).value(), 5ms);
    EXPECT_EQ(m.toWakeup(), "acquire");
    EXPECT_EQ(m.expected(), free ? "gone-1" : "absent");
    EXPECT_EQ(m.state(), LeaseState::acquiring);
  }
}

TEST(CandidateReadAnswered, anErrorIsShownAndTriedAgainLater) {
  for (const ErrorClass errorClass : errorClasses) {
    SCOPED_TRACE(toString(errorClass));
    MachineHarness m;
    m.becomeReading();
    EXPECT_EQ(told(m, StoreError{errorClass, "no"}), "candidate: ");
    EXPECT_EQ(m.machine.lastError(), (StoreError{errorClass, "no"}));
    EXPECT_EQ(m.machine.lastErrorAt(), m.now);
    EXPECT_GE(m.machine.untilWakeup(m.now).value(), 300ms);
    EXPECT_EQ(m.toWakeup(), "read");
  }
}

// ---- the acquisition ----

TEST(AcquireAnswered, appliedIsATerm) {
  MachineHarness m;
  m.becomeAcquiring();
  EXPECT_EQ(told(m, Applied{FencingToken{7}}), "leading: publish(leads) leader(self) elected(7)");
  EXPECT_TRUE(m.leads());
}

TEST(AcquireAnswered, aWarningOfTheStoreIsLogged) {
  MachineHarness m;
  m.becomeAcquiring();
  EXPECT_EQ(told(m, Applied{FencingToken{7}, false, "the counter was restored to 6"}),
            "leading: log publish(leads) leader(self) elected(7)");
  EXPECT_EQ(m.logLines.back(), "the counter was restored to 6");
}

TEST(AcquireAnswered, conflictThatShowsTheWinnerIsWatchedWithoutAnotherRead) {
  MachineHarness m;
  m.becomeAcquiring();
  EXPECT_EQ(told(m, Conflict{std::optional{othersRecord()}}), "candidate: leader(b#2)");
  EXPECT_GE(m.machine.untilWakeup(m.now).value(), 1s);
}

TEST(AcquireAnswered, conflictThatShowsNothingIsReadBack) {
  MachineHarness m;
  m.becomeAcquiring();
  EXPECT_EQ(told(m, Conflict{}), "candidate: read");
}

/// A write that the network delivered twice conflicts with itself, and only that answer arrives.
TEST(AcquireAnswered, conflictWithItselfIsATerm) {
  MachineHarness m;
  m.becomeAcquiring();
  const Instant sent = m.now;
  m.now = m.now + 1s;
  EXPECT_EQ(told(m, Conflict{std::optional{m.written(7)}}), "leading: publish(leads) leader(self) elected(7)");
  EXPECT_EQ(m.published().anchor, sent) << "the right counts from before the sending (I2)";

  MachineHarness blind;
  blind.becomeAcquiring();
  EXPECT_EQ(told(blind, Conflict{}), "candidate: read");
  EXPECT_EQ(told(blind, std::optional{blind.written(7)}), "leading: publish(leads) leader(self) elected(7)");
}

/// Somebody marked it by hand and left the version unchanged. From then on anybody may take it.
TEST(AcquireAnswered, whatIsMarkedAsReleasedIsNoTermThoughItIsTheAcquisitionsOwn) {
  for (const bool shownByTheConflict : {true, false}) {
    MachineHarness m;
    m.becomeAcquiring();
    LeaseRecord marked = m.written(7);
    marked.released = true;
    if (shownByTheConflict) {
      m.answerWrite(Conflict{std::optional{marked}});
    } else {
      ASSERT_EQ(told(m, Unknown{transientError()}), "candidate: read");
      m.answerRead(marked);
    }
    EXPECT_EQ(m.elections(), 0U) << shownByTheConflict;
    EXPECT_FALSE(m.leads()) << shownByTheConflict;
    EXPECT_EQ(readUntilElse(m, marked), "acquire") << shownByTheConflict;
    EXPECT_EQ(m.expected(), marked.version.text()) << "it is taken anew, as anybody would take it";
  }
}

TEST(AcquireAnswered, rejectedIsTriedAgainLaterAfterARead) {
  for (const ErrorClass errorClass : errorClasses) {
    SCOPED_TRACE(toString(errorClass));
    MachineHarness m;
    m.becomeAcquiring();
    EXPECT_EQ(told(m, Rejected{{errorClass, "no"}}), "candidate: ");
    EXPECT_EQ(m.machine.lastError(), (StoreError{errorClass, "no"}));
    EXPECT_GE(m.machine.untilWakeup(m.now).value(), 300ms);
    EXPECT_EQ(m.toWakeup(), "read");
  }
}

TEST(AcquireAnswered, unknownIsReadBackAtOnceAndIsATermIfItArrived) {
  MachineHarness m;
  m.becomeAcquiring();
  const Instant sent = m.now;
  const LeaseRecord mine = m.written(7);
  m.now = m.now + 100ms;
  EXPECT_EQ(told(m, Unknown{transientError()}), "candidate: read");
  m.now = m.now + 100ms;
  EXPECT_EQ(told(m, std::optional{mine}), "leading: publish(leads) leader(self) elected(7)");
  EXPECT_EQ(m.published().anchor, sent);
}

TEST(AcquireAnswered, unknownThatDidNotArriveIsTriedAgain) {
  MachineHarness m;
  m.becomeAcquiring();
  EXPECT_EQ(told(m, Unknown{transientError()}), "candidate: read");
  EXPECT_EQ(told(m, absent), "candidate: ");
  std::string did;
  for (int i = 0; i < 20 && did != "acquire"; ++i) {
    did = m.toWakeup();
    if (did == "read") m.answerRead(absent);
  }
  EXPECT_EQ(did, "acquire");
}

/// Reads that succeed between failing writes must not make the writes follow without a pause (k/k#65666: API
/// hammering).
TEST(AcquireAnswered, failingWritesAreSpacedOutHoweverWellReadsGo) {
  const auto acquisitionsIn = [](std::chrono::nanoseconds span, const WriteOutcome& answer) {
    MachineHarness m;
    m.becomeAcquiring();
    const Instant start = m.now;
    int acquisitions = 1;
    std::string did = m.answerWrite(answer);
    while (elapsedForHolder(start, m.now) < span) {
      m.now = m.now + 1ms;  // how long the store takes
      if (did.find("acquire") != std::string::npos) {
        ++acquisitions;
        did = m.answerWrite(answer);
      } else if (did.find("read") != std::string::npos) {
        did = m.answerRead(absent);
      } else {
        did = m.toWakeup();
      }
    }
    return acquisitions;
  };
  EXPECT_LE(acquisitionsIn(600s, Unknown{transientError()}), 300) << "at most a few in each heartbeat of 3 s";
  EXPECT_LE(acquisitionsIn(600s, Rejected{transientError()}), 300);
  EXPECT_LE(acquisitionsIn(600s, Rejected{{ErrorClass::credentials, "no"}}), 130) << "about one in each lease of 10 s";
  EXPECT_LE(acquisitionsIn(600s, Conflict{absent}), 600s / 50ms) << "a condition that never holds";
  EXPECT_LE(acquisitionsIn(600s, Conflict{}), 600s / 50ms);
  EXPECT_GE(acquisitionsIn(600s, Unknown{transientError()}), 150) << "but it goes on";
}

// ---- the renewal ----

TEST(RenewAnswered, appliedExtendsFromBeforeTheSending) {
  MachineHarness m;
  m.becomeRenewing();
  const Instant sent = m.now;
  m.now = m.now + 2s;
  EXPECT_EQ(told(m, Applied{FencingToken{1}}), "leading: publish(leads) renewed");
  EXPECT_EQ(m.published().anchor, sent);
  EXPECT_LE(m.machine.untilWakeup(m.now), 1s) << "the next heartbeat counts from there too";
  EXPECT_GT(m.machine.untilWakeup(m.now), 1s - std::chrono::nanoseconds{3s} / 32);
}

TEST(RenewAnswered, nearHeartbeatsOfDifferentLeasesShareAWakeUp) {
  const std::chrono::nanoseconds slot = std::chrono::nanoseconds{3s} / 32;
  for (const auto later : {0ms, 7ms, 20ms, 93ms, 1'000ms}) {
    MachineHarness m;
    m.now = m.now + later;
    m.becomeLeading();
    const auto due = m.now.boottime + m.machine.untilWakeup(m.now).value();
    const auto latest = m.published().anchor.boottime + 3s;
    EXPECT_EQ(due % slot, 0ns) << "the same moments for all leases with this heartbeat";
    EXPECT_LE(due, latest);
    EXPECT_GT(due, latest - slot);
  }
}

TEST(RenewAnswered, appliedWithARequestToStepDownDoesSo) {
  MachineHarness m;
  m.becomeRenewing();
  EXPECT_EQ(told(m, Applied{FencingToken{1}, true}),
            "draining: publish(leads) renewed publish(ends) revoked(steppedDown)");
}

TEST(RenewAnswered, conflictWithAnotherHolderIsALoss) {
  MachineHarness m;
  m.becomeRenewing();
  EXPECT_EQ(told(m, Conflict{std::optional{othersRecord()}}),
            "candidate: publish(lost) revoked(lost) publish(none) leader(b#2)")
      << "what was seen is an observation already";
  EXPECT_EQ(m.revocations().back().detail, "the record now belongs to b (2)");
}

TEST(RenewAnswered, conflictWithNoRecordIsRecordMissing) {
  MachineHarness m;
  m.becomeRenewing();
  EXPECT_EQ(told(m, Conflict{absent}), "candidate: publish(lost) revoked(recordMissing) publish(none) read");
}

TEST(RenewAnswered, conflictWithAReleasedRecordIsALoss) {
  MachineHarness m;
  m.becomeRenewing();
  LeaseRecord record = m.written();
  record.released = true;
  EXPECT_EQ(told(m, Conflict{std::optional{record}}), "candidate: publish(lost) revoked(lost) publish(none) read");
}

TEST(RenewAnswered, conflictWithAVersionThatItNeverWroteIsALoss) {
  MachineHarness m;
  m.becomeRenewing();
  LeaseRecord record = m.written();
  record.version = RecordVersion{"from an old copy"};
  EXPECT_EQ(told(m, Conflict{std::optional{record}}), "candidate: publish(lost) revoked(lost) publish(none) read");
}

TEST(RenewAnswered, conflictThatShowsNothingIsReadBack) {
  MachineHarness m;
  m.becomeRenewing();
  EXPECT_EQ(told(m, Conflict{}), "leading: read");
  EXPECT_EQ(told(m, std::optional{othersRecord()}), "candidate: publish(lost) revoked(lost) publish(none) leader(b#2)");
}

/// The write was delivered twice, or resent below the store's client. Its first copy makes the second
/// conflict.
TEST(RenewAnswered, conflictWithItselfIsARenewal) {
  MachineHarness m;
  m.becomeRenewing();
  const Instant sent = m.now;
  m.now = m.now + 100ms;
  EXPECT_EQ(told(m, Conflict{std::optional{m.written()}}), "leading: publish(leads) renewed");
  EXPECT_EQ(m.published().anchor, sent);

  MachineHarness blind;
  blind.becomeRenewing();
  EXPECT_EQ(told(blind, Conflict{}), "leading: read");
  EXPECT_EQ(told(blind, std::optional{blind.written()}), "leading: publish(leads) renewed");
}

TEST(RenewAnswered, rejectedPutsInDoubtOnceAndIsTriedAgain) {
  for (const ErrorClass errorClass : errorClasses) {
    SCOPED_TRACE(toString(errorClass));
    MachineHarness m;
    m.becomeRenewing();
    EXPECT_EQ(told(m, Rejected{{errorClass, "no"}}), "leading: inDoubt");
    EXPECT_TRUE(m.machine.inDoubt());
    EXPECT_EQ(m.toWakeup(), "renew");
    EXPECT_EQ(told(m, Rejected{{errorClass, "no"}}), "leading: ");
    EXPECT_EQ(m.toWakeup(), "renew");
    EXPECT_EQ(told(m, Applied{FencingToken{1}}), "leading: publish(leads) renewed(afterDoubt)");
    EXPECT_FALSE(m.machine.inDoubt());
  }
}

TEST(RenewAnswered, theEndNamesTheRefusalAndNotTheTimeOutAfterIt) {
  MachineHarness m;
  m.becomeRenewing();
  m.answerWrite(Rejected{{ErrorClass::credentials, "AccessDenied"}});
  for (int tries = 0; tries < 100 && m.toWakeup() == "renew"; ++tries) {
    m.answerWrite(Rejected{{ErrorClass::transient, "the connection was refused"}});
  }
  ASSERT_FALSE(m.revocations().empty());
  EXPECT_EQ(m.revocations().back().reason, RevokeReason::storeUnreachable);
  EXPECT_EQ(m.revocations().back().detail, "AccessDenied");
}

TEST(RenewAnswered, whatWaitsForPeopleIsAskedAboutAFewTimesOnly) {
  MachineHarness m;
  m.becomeRenewing();
  m.answerWrite(Rejected{{ErrorClass::misconfigured, "no such table"}});
  int writes = 1;
  for (; writes < 100 && m.toWakeup() == "renew"; ++writes) {
    m.answerWrite(Rejected{{ErrorClass::misconfigured, "no such table"}});
  }
  EXPECT_FALSE(m.revocations().empty());
  EXPECT_GE(writes, 3);
  EXPECT_LE(writes, 6);
}

TEST(RenewAnswered, unknownIsPartOfTheNextCondition) {
  MachineHarness m;
  m.becomeLeading();
  const std::string won = m.written().version.text();
  m.after(3s);
  const std::string first = m.written().version.text();
  EXPECT_EQ(m.expected(), won);
  EXPECT_EQ(told(m, Unknown{transientError()}), "leading: inDoubt");
  EXPECT_EQ(m.toWakeup(), "renew");
  EXPECT_EQ(m.expected(), won + "|" + first);
  EXPECT_EQ(told(m, Applied{FencingToken{1}}), "leading: publish(leads) renewed(afterDoubt)");
  const std::string third = m.written().version.text();
  m.after(3s);
  EXPECT_EQ(m.expected(), third) << "an acknowledged write settles those before it";
}

// ---- the read-back of a holder ----

TEST(ReadBackAnswered, theFirstOfTwoUnansweredRenewalsArrived) {
  MachineHarness m;
  m.becomeRenewing();
  const Instant sent = m.now;
  const LeaseRecord first = m.written();
  m.answerWrite(Unknown{transientError()});
  m.toWakeup();
  const std::string second = m.written().version.text();
  EXPECT_EQ(told(m, Conflict{}), "leading: read");
  EXPECT_EQ(told(m, std::optional{first}), "leading: publish(leads) renewed(afterDoubt)");
  EXPECT_EQ(m.published().anchor, sent) << "only what is proven counts";
  m.toWakeup();
  EXPECT_EQ(m.expected(), first.version.text() + "|" + second) << "the second may still arrive";
}

TEST(ReadBackAnswered, noneOfTheRenewalsArrived) {
  MachineHarness m;
  m.becomeLeading();
  const LeaseRecord won = m.written();
  const Instant anchor = m.published().anchor;
  m.after(3s);
  m.answerWrite(Conflict{});
  EXPECT_EQ(told(m, std::optional{won}), "leading: inDoubt");
  EXPECT_EQ(m.published().anchor, anchor);
  EXPECT_EQ(m.machine.lastError()->message, "the renewal did not arrive");
  EXPECT_EQ(m.toWakeup(), "renew");
}

TEST(ReadBackAnswered, anErrorIsNoProofOfAnything) {
  MachineHarness m;
  m.becomeRenewing();
  m.answerWrite(Conflict{});
  EXPECT_EQ(told(m, transientError()), "leading: inDoubt");
  EXPECT_EQ(m.toWakeup(), "renew");
}

TEST(ReadBackAnswered, tooManyUnansweredRenewalsAreReadBackBeforeAnother) {
  MachineHarness m;
  m.becomeRenewing();
  int renewals = 1;
  std::string did = "renew";
  while (did == "renew") {
    m.answerWrite(Unknown{transientError()});
    did = m.toWakeup();
    renewals += did == "renew";
  }
  EXPECT_EQ(did, "read");
  EXPECT_EQ(renewals, 8);
  EXPECT_TRUE(m.leads());
  EXPECT_EQ(told(m, std::optional{m.written()}), "leading: publish(leads) renewed(afterDoubt)");
  m.toWakeup();
  EXPECT_EQ(m.write().expected.size(), 1U);
}

// ---- while the work ends ----

TEST(DrainAnswered, theRenewalGoesOnWithoutLeading) {
  MachineHarness m;
  m.becomeDrainingWhileRenewing();
  EXPECT_EQ(told(m, Applied{FencingToken{1}, true}), "draining: publish(ends)");
  EXPECT_FALSE(m.leads());
  EXPECT_TRUE(m.published().validAt(m.now));
  EXPECT_EQ(m.after(3s), "renew");
  EXPECT_EQ(told(m, Rejected{transientError()}), "draining: ") << "the work was told to stop already: no doubt";
}

TEST(DrainAnswered, aLossIsLoggedAndNotRevokedTwice) {
  for (const auto& current : {absent, std::optional{othersRecord()}}) {
    MachineHarness m;
    m.becomeDrainingWhileRenewing();
    EXPECT_EQ(told(m, Conflict{current}),
              current ? "candidate: log publish(none) leader(b#2)" : "candidate: log publish(none) read");
    EXPECT_EQ(m.revocations().size(), 1U);
  }
}

TEST(DrainAnswered, aReadBackSettlesTheRenewal) {
  MachineHarness m;
  m.becomeDrainingWhileRenewing();
  m.answerWrite(Conflict{});
  EXPECT_EQ(told(m, std::optional{m.written()}), "draining: publish(ends)");
}

// ---- the release ----

TEST(ReleaseAnswered, appliedEndsTheTermForAll) {
  MachineHarness m;
  m.becomeReleasing();
  EXPECT_EQ(told(m, Applied{FencingToken{1}}), "candidate: leader(none) read");
  EXPECT_FALSE(m.published().validAt(m.now));
}

TEST(ReleaseAnswered, conflictMeansThatTheRecordIsNotOursAnyMore) {
  for (const Conflict& conflict : {Conflict{}, Conflict{absent}, Conflict{std::optional{othersRecord()}}}) {
    MachineHarness m;
    m.becomeReleasing();
    m.step(event::Stop{});
    EXPECT_EQ(told(m, conflict), "stopped: leader(none) unfollow stopped(notHeld)");
  }
}

TEST(ReleaseAnswered, conflictThatShowsASuccessorIsAnObservationAlready) {
  MachineHarness m;
  m.becomeReleasing();
  EXPECT_EQ(told(m, Conflict{std::optional{othersRecord()}}), "candidate: leader(none) leader(b#2)");
  EXPECT_EQ(m.toWakeup(), "read");
  m.answerRead(absent);
  EXPECT_GE(m.machine.untilWakeup(m.now).value(), 90ms) << "it vanished: its lease is waited out";
}

TEST(ReleaseAnswered, conflictWithItselfIsReleased) {
  MachineHarness m;
  m.becomeReleasing();
  m.step(event::Stop{});
  EXPECT_EQ(told(m, Conflict{std::optional{m.written()}}), "stopped: leader(none) unfollow stopped(released)");
}

TEST(ReleaseAnswered, rejectedIsTriedAgain) {
  for (const ErrorClass errorClass : errorClasses) {
    MachineHarness m;
    m.becomeReleasing();
    EXPECT_EQ(told(m, Rejected{{errorClass, "no"}}), "releasing: ");
    EXPECT_EQ(m.toWakeup(), "release");
    EXPECT_EQ(told(m, Applied{FencingToken{1}}), "candidate: leader(none) read");
  }
}

TEST(ReleaseAnswered, unknownIsTriedAgainAcceptingThatItArrived) {
  MachineHarness m;
  m.becomeReleasing();
  const std::string before = m.expected();
  const std::string first = m.written().version.text();
  EXPECT_EQ(told(m, Unknown{transientError()}), "releasing: ");
  EXPECT_EQ(m.toWakeup(), "release");
  EXPECT_EQ(m.expected(), before + "|" + first);
}

/// The renewal under way when the work ended conflicts with its own first copy. The release must still find the record.
TEST(ReleaseAnswered, aRenewalThatConflictsWithItselfDoesNotHideTheRecordFromTheRelease) {
  MachineHarness m;
  m.becomeDrainingWhileRenewing();
  const std::string before = m.expected();
  const std::string renewal = m.written().version.text();
  m.step(event::WorkEnded{});
  EXPECT_EQ(told(m, Conflict{}), "releasing: release");
  EXPECT_EQ(m.expected(), before + "|" + renewal);
}

TEST(ReleaseAnswered, aRenewalWithoutAnAnswerIsPartOfTheCondition) {
  MachineHarness m;
  m.becomeDrainingWhileRenewing();
  const std::string before = m.expected();
  const std::string renewal = m.written().version.text();
  m.step(event::WorkEnded{});
  EXPECT_EQ(told(m, Unknown{transientError()}), "releasing: ");
  EXPECT_EQ(m.toWakeup(), "release");
  EXPECT_EQ(m.expected(), before + "|" + renewal);
}

TEST(ReleaseAnswered, theReadBackOfADrainingHolderIsAwaitedAndDoesNotMatter) {
  MachineHarness m;
  m.becomeDrainingWhileRenewing();
  EXPECT_EQ(told(m, Conflict{}), "draining: read");
  EXPECT_EQ(m.step(event::WorkEnded{}), "publish(none)");
  EXPECT_EQ(told(m, std::optional{othersRecord()}), "releasing: release");
}

TEST(ReleaseAnswered, afterAWholeLeaseWithoutAnAnswerItEndsAsUnknown) {
  MachineHarness m;
  m.becomeReleasing();
  m.step(event::Stop{});
  std::string did;
  std::size_t requests = 0;
  while (m.state() == LeaseState::releasing) {
    did = m.toWakeup();
    requests += did == "release";
    ASSERT_LT(requests, 100U);
  }
  EXPECT_EQ(did, "log leader(none) unfollow stopped(unknown)");
  EXPECT_GT(requests, 1U);
}

}  // namespace
}  // namespace tenure::test
