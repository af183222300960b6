// What LeaseMachine promises, I1 to I4: who may lead, and until when.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// ---- I1: at most one valid leader, no wall clock, no foreign times ----

TEST(I1AtMostOneValidLeader, theHoldersRightEndsBeforeAChallengerMayTakeOver) {
  // The worst pair within the bound of 500 ppm in each direction: the holder's clocks run slow, the challenger's fast.
  // The challenger even saw the version at the very instant when it was sent.
  for (const auto duration : {100ms, 1000ms, 10'000ms, 3'600'000ms}) {
    LeaseOptions options;
    options.duration = duration;
    const LeaseTiming timing = LeaseTiming::from(options).value();
    const auto trueEndOfRight = static_cast<double>(nanoseconds{timing.validFor()}.count()) / (1 - 500e-6);
    const auto trueTakeover = static_cast<double>(nanoseconds{timing.duration()}.count()) / (1 + 500e-6);
    EXPECT_LT(trueEndOfRight, trueTakeover) << duration.count() << " ms";
  }
}

/// It was conditioned on there being no record, and a promotion that lost the other's term has made that true again.
TEST(I1AtMostOneValidLeader, aLateAcquisitionIsNoTermWhereAnotherWasSeenSince) {
  MachineHarness m;
  m.becomeAcquiring();
  m.answerWrite(Unknown{transientError()});
  LeaseRecord others = othersRecord();
  others.version = RecordVersion{"other-1", "4/1"};
  m.answerRead(std::optional{others});
  LeaseRecord late = m.written(std::uint64_t{1} << 40U);
  late.version = RecordVersion{late.version.text(), "4/2"};
  const Instant seen = m.now;
  m.toWakeup();
  m.answerRead(std::optional{late});
  EXPECT_EQ(m.elections(), 0U) << "the other one may lead";
  EXPECT_EQ(readUntilElse(m, late), "acquire");
  EXPECT_GE(elapsedForChallenger(seen, m.now), 10s);
}

TEST(I1AtMostOneValidLeader, foreignTimesDecideNothing) {
  for (const std::int64_t millis : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{4'000'000'000'000}}) {
    MachineHarness m;
    m.becomeReading();
    LeaseRecord record = othersRecord();
    record.acquiredAtMillis = record.renewedAtMillis = millis;
    m.answerRead(std::optional{record});
    const Instant seen = m.now;
    EXPECT_EQ(readUntilElse(m, record), "acquire");
    EXPECT_GE(elapsedForChallenger(seen, m.now), 10s);
    EXPECT_LE(elapsedForChallenger(seen, m.now), 10s + 5ms);
  }
}

/// Each write is conditional on what was seen. A renewal or a release never creates a record.
TEST(I1AtMostOneValidLeader, everyWriteIsConditional) {
  MachineHarness m;
  m.becomeReading();
  m.answerRead(std::optional{othersRecord("v7")});
  readUntilElse(m, othersRecord("v7"));
  EXPECT_EQ(m.expected(), "v7");
  EXPECT_EQ(m.write().purpose, WriteRequest::Purpose::acquire);
  const std::string won = m.write().record.version.text();
  m.answerWrite(Applied{FencingToken{6}});
  m.after(3s);
  EXPECT_EQ(m.expected(), won);
  EXPECT_EQ(m.write().purpose, WriteRequest::Purpose::renew);
  EXPECT_NE(m.write().record.version.text(), won) << "a new version with each heartbeat";
  const std::string renewed = m.write().record.version.text();
  m.answerWrite(Applied{FencingToken{6}});
  m.step(event::Stop{});
  m.step(event::WorkEnded{});
  EXPECT_EQ(m.expected(), renewed);
  EXPECT_EQ(m.write().purpose, WriteRequest::Purpose::release);
  EXPECT_TRUE(m.write().record.released);
}

/// A takeover writes the complete ownership state.
TEST(I1AtMostOneValidLeader, aTakeoverOfAReleasedRecordIsNotReleased) {
  MachineHarness m;
  m.becomeReading();
  m.answerRead(std::optional{releasedRecord("gone")});
  m.toWakeup();
  EXPECT_FALSE(m.write().record.released);
  EXPECT_EQ(m.write().record.holder, selfName);
  EXPECT_EQ(m.write().record.leaseDuration, 10s);
  EXPECT_FALSE(m.write().record.version.isNone());
}

TEST(I1AtMostOneValidLeader, aRecordThatVanishedUnderALivingHolderIsWaitedOut) {
  MachineHarness m;
  m.becomeCandidate();
  m.step(event::StoreHint{});
  EXPECT_EQ(m.answerRead(absent), "leader(none)");
  const Instant seen = m.now;
  EXPECT_EQ(readUntilElse(m, absent), "acquire");
  EXPECT_EQ(m.expected(), "absent");
  EXPECT_GE(elapsedForChallenger(seen, m.now), 10s);
}

/// A virtual machine that was cloned while it ran: two candidates with one name and incarnation (pitfall 38, fault
/// T12).
TEST(I1AtMostOneValidLeader, aCloneOfTheProcessDoesNotTakeItsTwinsLease) {
  MachineHarness m;
  m.becomeRenewing();
  LeaseRecord twins = m.written();
  twins.version = RecordVersion{"the twin renewed first"};
  EXPECT_EQ(m.answerWrite(Conflict{std::optional{twins}}), "publish(lost) revoked(lost) publish(none) read");
  m.step(event::WorkEnded{});
  m.answerRead(std::optional{twins});
  EXPECT_EQ(m.machine.leader()->holder, selfName);
  EXPECT_FALSE(m.machine.leader()->self);
  const Instant seen = m.now;
  while (m.toWakeup() == "read") m.answerRead(std::optional{twins});
  EXPECT_EQ(m.state(), LeaseState::acquiring);
  EXPECT_GE(elapsedForChallenger(seen, m.now), 10s) << "the twin's lease is waited out like anybody's";
}

// ---- I2: the right counts from before the sending of the last acknowledged write ----

TEST(I2HoldersRight, anAcquisitionCountsFromBeforeItWasSent) {
  MachineHarness m;
  m.becomeAcquiring();
  const Instant sent = m.now;
  m.now = m.now + 4s;
  m.answerWrite(Applied{FencingToken{1}});
  EXPECT_EQ(m.published().anchor, sent);
  EXPECT_EQ(m.published().leadsFor, 8989ms);
  EXPECT_EQ(m.published().validFor, 9989ms);
}

/// A late reply does not move the end.
TEST(I2HoldersRight, aSlowReplyDoesNotExtendIt) {
  MachineHarness m;
  m.becomeRenewing();
  const Instant sent = m.now;
  m.now = m.now + 2900ms;
  m.answerWrite(Applied{FencingToken{1}});
  EXPECT_EQ(m.published().anchor, sent);
  const Instant end = sent + 8989ms;
  while (m.state() == LeaseState::leading) {
    m.toWakeup();
  }
  EXPECT_EQ(m.now, end) << "to the nanosecond, with a store that answers nothing any more";
}

/// Only an acknowledged or proven write extends it.
TEST(I2HoldersRight, failuresDoNotExtendIt) {
  for (const WriteOutcome& outcome :
       {WriteOutcome{Rejected{{ErrorClass::transient, "503"}}}, WriteOutcome{Unknown{transientError()}}}) {
    MachineHarness m;
    m.becomeLeading();
    const Instant anchor = m.published().anchor;
    while (m.state() == LeaseState::leading) {
      const std::string did = m.toWakeup();
      if (did == "renew") m.answerWrite(outcome);
      if (did == "read") m.answerRead(std::get<Unknown>(outcome).error);
      ASSERT_EQ(m.leads(), m.state() == LeaseState::leading);
    }
    EXPECT_EQ(m.now, anchor + 8989ms);
    EXPECT_EQ(m.revocations().back().reason, RevokeReason::storeUnreachable);
    EXPECT_EQ(m.revocations().back().detail, std::holds_alternative<Rejected>(outcome) ? "503" : "busy");
  }
}

TEST(I2HoldersRight, anAcquisitionThatIsAnsweredTooLateIsNoTerm) {
  MachineHarness m;
  m.becomeAcquiring();
  const LeaseRecord own = m.written();
  const Attempt attempt = m.attempt();
  m.now = m.now + 9s;
  EXPECT_EQ(m.step(event::WriteReply{attempt, Applied{FencingToken{1}}}), "read") << "it was given up as unanswered";
  EXPECT_EQ(m.answerRead(std::optional{own}), "") << "read back, but too old to lead by";
  EXPECT_EQ(m.elections(), 0U);
  EXPECT_EQ(readUntilElse(m, own), "acquire") << "nobody else can hold it: it need not be waited out";
  EXPECT_EQ(m.expected(), own.version.text());
}

/// A read at the last moment extends the term from the renewal that it proves, and no further.
TEST(I2HoldersRight, aProofExtendsItFromWhenTheProvenRenewalWasSent) {
  LeaseOptions options = tenSecondLease();
  options.heartbeat = 1s;
  MachineHarness m{options};
  m.becomeLeading();
  const Instant won = m.published().anchor;
  m.after(1s);
  const LeaseRecord first = m.written();
  m.answerWrite(Unknown{transientError()});
  while (elapsedForHolder(won, m.now) < 8s) {
    if (m.toWakeup() == "renew") m.answerWrite(Rejected{transientError()});
  }
  while (m.toWakeup() != "renew") continue;
  EXPECT_EQ(m.answerWrite(Conflict{}), "read");
  m.now = m.now + 2ms;
  EXPECT_EQ(m.answerRead(std::optional{first}), "publish(leads) renewed(afterDoubt) renew");
  EXPECT_EQ(m.published().anchor, won + 1s);
}

// ---- I3: a challenger's wait ----

/// The observation outlives single attempts and failures.
TEST(I3ChallengersWait, failingReadsDoNotStartItAnew) {
  MachineHarness m;
  m.becomeCandidate();
  const Instant seen = m.now;
  std::string did;
  while (did != "acquire") {
    did = m.toWakeup();
    if (did == "read") m.answerRead(transientError());
    ASSERT_LT(elapsedForHolder(seen, m.now), 11s);
  }
  EXPECT_GE(elapsedForHolder(seen, m.now), 10s);
  EXPECT_LE(elapsedForHolder(seen, m.now), 10s + 5ms);
}

TEST(I3ChallengersWait, aRejectedAcquisitionDoesNotStartItAnew) {
  MachineHarness m;
  m.becomeCandidate();
  readUntilElse(m, othersRecord());
  const Instant first = m.now;
  m.answerWrite(Rejected{transientError()});
  EXPECT_EQ(readUntilElse(m, othersRecord()), "acquire");
  EXPECT_LE(elapsedForHolder(first, m.now), 1s);
}

/// The candidate still waits when the holder dies after a late heartbeat.
TEST(I3ChallengersWait, aNewVersionStartsItAnew) {
  MachineHarness m;
  m.becomeCandidate();
  m.now = m.now + 9s;
  m.wake();
  EXPECT_EQ(m.answerRead(std::optional{othersRecord("other-2")}), "");
  const Instant seen = m.now;
  EXPECT_EQ(readUntilElse(m, othersRecord("other-2")), "acquire");
  EXPECT_GE(elapsedForChallenger(seen, m.now), 10s);
}

/// The duration in the record counts, not the candidate's own.
TEST(I3ChallengersWait, theRecordSaysHowLong) {
  for (const auto duration : {1000ms, 30'000ms}) {
    MachineHarness m;
    m.becomeReading();
    const LeaseRecord record = othersRecord("v", 5, duration);
    m.answerRead(std::optional{record});
    const Instant seen = m.now;
    EXPECT_EQ(readUntilElse(m, record), "acquire");
    EXPECT_GE(elapsedForChallenger(seen, m.now), duration);
    EXPECT_LE(elapsedForChallenger(seen, m.now), duration + 5ms);
  }
}

TEST(I3ChallengersWait, countsFromTheReceiptOfTheReply) {
  MachineHarness m;
  m.becomeReading();
  m.now = m.now + 1s;
  m.answerRead(std::optional{othersRecord()});
  const Instant received = m.now;
  readUntilElse(m, othersRecord());
  EXPECT_GE(elapsedForChallenger(received, m.now), 10s);
}

/// Slewed clocks and suspend (chrony may run CLOCK_MONOTONIC 8.3 % fast): the slower of RAW and MONOTONIC counts.
TEST(I3ChallengersWait, aFastOrSuspendedClockDoesNotShortenIt) {
  MachineHarness m;
  m.becomeCandidate();
  const Instant seen = m.now;
  std::string did;
  while (did != "acquire") {
    const nanoseconds wait = m.machine.untilWakeup(m.now).value();
    m.now = {m.now.raw + wait, m.now.monotonic + wait * 11 / 10, m.now.boottime + wait * 11 / 10 + 1s};
    did = m.wake();
    if (did == "read") m.answerRead(std::optional{othersRecord()});
  }
  EXPECT_GE((m.now.raw - seen.raw), 10s);
}

TEST(I3ChallengersWait, aRecordThatIsNotUnderstoodIsNeverTakenOver) {
  MachineHarness m;
  m.becomeCandidate();
  m.step(event::StoreHint{});
  m.answerRead(StoreError{ErrorClass::corrupt, "the row of lease has a lease duration of \"20s\""});
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(m.toWakeup(), "read");
    m.answerRead(StoreError{ErrorClass::corrupt, "still"});
  }
  m.toWakeup();
  m.answerRead(std::optional{othersRecord()});
  const Instant seen = m.now;
  EXPECT_EQ(readUntilElse(m, othersRecord()), "acquire");
  EXPECT_GE(elapsedForChallenger(seen, m.now), 10s) << "what was known before is forgotten";
}

/// An observation from before its own term is no reason to act after the term.
TEST(I3ChallengersWait, whatWasObservedBeforeTheOwnTermIsForgotten) {
  for (const WriteOutcome& answer : {WriteOutcome{Conflict{}}, WriteOutcome{Applied{FencingToken{1}}}}) {
    MachineHarness m;
    m.becomeReleasing();
    ASSERT_EQ(m.answerWrite(answer), "leader(none) read");
    for (int i = 0; i < 40; ++i) {
      ASSERT_EQ(m.answerRead(transientError()), "");
      ASSERT_EQ(m.toWakeup(), "read") << "never a write before the record was seen";
    }
  }
}

// ---- I4: deadlines by the clock, before any event ----

/// After a pause or a suspend, the end of the term comes before anything else.
TEST(I4DeadlinesByTheClock, noEventComesBeforeTheDeadline) {
  const std::vector<LeaseEvent> events{event::Wakeup{},        event::StoreHint{}, event::WorkProgressed{},
                                       event::WorkFailed{"x"}, event::StepDown{},  event::Stop{},
                                       event::WorkEnded{}};
  for (const LeaseEvent& event : events) {
    SCOPED_TRACE(event.index());
    MachineHarness m;
    m.becomeLeading();
    m.now.boottime += 15s;  // suspended: only this clock continued
    EXPECT_FALSE(m.leads());
    m.step(event);
    ASSERT_EQ(m.revocations().size(), 1U);
    EXPECT_EQ(m.revocations().back().reason, RevokeReason::expired);
    EXPECT_EQ(m.revocations().back().detail, "this process did not run for 15000 ms");
  }
}

TEST(I4DeadlinesByTheClock, aLateSuccessDoesNotReviveATerm) {
  MachineHarness m;
  m.becomeRenewing();
  m.now = m.now + 6s;
  const std::string did = m.answerWrite(Applied{FencingToken{1}});
  EXPECT_EQ(did, "publish(ends) revoked(expired) read") << "the reply itself changed nothing";
  EXPECT_FALSE(m.leads());
  EXPECT_EQ(m.state(), LeaseState::candidate);
}

TEST(I4DeadlinesByTheClock, aLateSuccessDoesNotReviveADrainingTermEither) {
  MachineHarness m;
  m.becomeDrainingWhileRenewing();
  m.now = m.now + 7s;
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{1}}), "log publish(none) read");
  EXPECT_FALSE(m.published().validAt(m.now));
}

/// The published term is correct at every instant without another step.
TEST(I4DeadlinesByTheClock, thePublishedTermEndsByItself) {
  MachineHarness m;
  m.becomeLeading();
  const TermState term = m.machine.term();
  EXPECT_TRUE(term.leadsAt(term.anchor + (8989ms - 1ns)));
  EXPECT_FALSE(term.leadsAt(term.anchor + 8989ms));
  EXPECT_TRUE(term.validAt(term.anchor + (9989ms - 1ns)));
  EXPECT_FALSE(term.validAt(term.anchor + 9989ms));
  EXPECT_EQ(term.remainingAt(term.anchor + 20s), 0s);
}

TEST(I4DeadlinesByTheClock, theEndIsAWakeupOfItsOwn) {
  MachineHarness m;
  m.becomeRenewing();  // the store never answers
  std::vector<nanoseconds> ends;
  while (m.state() == LeaseState::leading) m.toWakeup();
  EXPECT_EQ(m.now, m.published().anchor + 8989ms);
}

}  // namespace
}  // namespace tenure::test
