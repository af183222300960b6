// What LeaseMachine promises: invariants I1 to I12 as far as they are the machine's, each with tests named after it.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

const std::optional<LeaseRecord> absent{};

/// Answers every read with `record` until the machine does something else than read.
std::string readUntilElse(MachineHarness& m, const std::optional<LeaseRecord>& record) {
  std::string did = m.toWakeup();
  for (int i = 0; did == "read" && i < 1000; ++i) {
    did = m.answerRead(record);
    if (did.empty()) did = m.toWakeup();
  }
  return did;
}

// ---- I1: at most one valid leader, no wall clock, no foreign times ----

TEST(I1AtMostOneValidLeader, theHoldersRightEndsBeforeAChallengerMayTakeOver) {
  // The worst pair within the bound of 500 ppm each way: the holder's clocks run slow, the challenger's fast. The
  // challenger even saw the version in the very instant in which it was sent.
  for (const auto duration : {100ms, 1000ms, 10'000ms, 3'600'000ms}) {
    LeaseOptions options;
    options.duration = duration;
    const LeaseTiming timing = LeaseTiming::from(options).value();
    const auto trueEndOfRight = static_cast<double>(nanoseconds{timing.validFor()}.count()) / (1 - 500e-6);
    const auto trueTakeover = static_cast<double>(nanoseconds{timing.duration()}.count()) / (1 + 500e-6);
    EXPECT_LT(trueEndOfRight, trueTakeover) << duration.count() << " ms";
  }
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

/// Pitfall 17, 41: each write is conditional on what was seen; a renewal or a release never creates a record.
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

/// Pitfall 18: a takeover writes the complete ownership state.
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

/// A virtual machine cloned while it ran: two candidates of one name and incarnation (pitfall 38, fault T12).
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

/// Pitfall 22: a reply that comes late does not move the end.
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

/// Pitfall 21: nothing but an acknowledged or proven write extends it.
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

/// A read-back in the last moment extends the term from the renewal that it proves, and no further.
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

/// Pitfalls 5, 6: the observation outlives single attempts and failures.
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

/// Pitfall 7: the candidate is still there when the holder dies after a late heartbeat.
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

/// Pitfall 25: the duration in the record, not one's own.
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

// ---- I4: deadlines by the clock, before any event ----

/// Pitfalls 3, 36, 37: after a pause or a suspend the first thing that happens is the end of the term.
TEST(I4DeadlinesByTheClock, noEventComesBeforeTheDeadline) {
  const std::vector<LeaseEvent> events{event::Wakeup{},        event::StoreHint{}, event::WorkProgressed{},
                                       event::WorkFailed{"x"}, event::StepDown{},  event::Stop{},
                                       event::WorkEnded{}};
  for (const LeaseEvent& event : events) {
    SCOPED_TRACE(event.index());
    MachineHarness m;
    m.becomeLeading();
    m.now.boottime += 15s;  // suspended: only this clock went on
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

/// The published term says the truth at every instant without another step.
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

// ---- I5: Elected and Revoked alternate ----

/// Pitfall 28: who never led is never revoked.
TEST(I5Alternation, noRevokedWithoutElected) {
  for (const auto enter :
       {&MachineHarness::becomeCandidate, &MachineHarness::becomeReading, &MachineHarness::becomeAcquiring}) {
    MachineHarness m;
    (m.*enter)();
    m.step(event::StepDown{});
    m.step(event::WorkFailed{"x"});
    m.step(event::TokenSeen{FencingToken{99}});
    m.step(event::Stop{});
    m.after(100s);
    EXPECT_TRUE(m.revocations().empty());
  }
}

/// Pitfall 39: a term after a term is a new one, with a new token and a callback of its own.
TEST(I5Alternation, hundredTermsOfOneMachine) {
  MachineHarness m;
  m.becomeLeading();
  for (std::uint64_t term = 1; term <= 100; ++term) {
    ASSERT_EQ(m.elections(), term);
    ASSERT_EQ(m.revocations().size(), term - 1);
    const LeaseRecord own = m.written(term);
    m.now = m.now + 20s;
    m.wake();
    ASSERT_EQ(m.revocations().size(), term);
    ASSERT_EQ(m.revocations().back().token, FencingToken{term});
    m.step(event::WorkEnded{});
    std::string did = m.answerRead(std::optional{own});
    if (did.find("acquire") == std::string::npos) did = readUntilElse(m, own);
    m.answerWrite(Applied{FencingToken{term + 1}});
    ASSERT_TRUE(m.leads());
  }
  EXPECT_EQ(m.machine.terms(), 101U);
}

TEST(I5Alternation, aPoliteEndThatTurnsIntoALossIsOneRevocation) {
  MachineHarness m;
  m.becomeDraining();
  m.after(100s);
  m.step(event::TokenSeen{FencingToken{99}});
  m.step(event::Stop{});
  m.after(100s);
  EXPECT_EQ(m.revocations().size(), 1U);
}

// ---- I6 (the machine's part): the work's state never delays renewal ----

TEST(I6CallbacksNeverDelayRenewal, workThatNeverReportsIsRenewedAllTheSame) {
  MachineHarness m;
  m.becomeLeading();
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(m.toWakeup(), "renew");
    ASSERT_EQ(m.answerWrite(Applied{FencingToken{1}}), "publish(leads) renewed");
  }
}

/// The work-side watchdog, if it is asked for: no progress, no renewal.
TEST(I6CallbacksNeverDelayRenewal, workThatMustReportProgressAndDoesNotLosesTheLease) {
  LeaseOptions options = tenSecondLease();
  options.progressTimeout = 4s;
  MachineHarness m{options};
  m.becomeLeading();
  ASSERT_EQ(m.toWakeup(), "renew");
  m.answerWrite(Applied{FencingToken{1}});
  m.step(event::WorkProgressed{});
  ASSERT_EQ(m.toWakeup(), "renew");
  m.answerWrite(Applied{FencingToken{1}});
  EXPECT_EQ(m.after(3s), "inDoubt");
  EXPECT_EQ(m.machine.lastError()->message,
            "the work has reported no progress for 4000 ms, so the lease is not renewed");
  m.step(event::WorkProgressed{});
  EXPECT_EQ(m.toWakeup(), "renew") << "it lives after all";
  m.answerWrite(Applied{FencingToken{1}});
  while (m.state() == LeaseState::leading) {
    const std::string did = m.toWakeup();
    if (did == "renew") m.answerWrite(Applied{FencingToken{1}});
  }
  EXPECT_EQ(m.revocations().back().reason, RevokeReason::expired);
  EXPECT_EQ(m.revocations().back().detail,
            "the work has reported no progress for 4000 ms, so the lease is not renewed");
}

// ---- I7: the token rises ----

TEST(I7TokenRises, whateverWasSeenIsTheFloorOfTheNextAcquisition) {
  MachineHarness m;
  m.becomeReading();
  m.answerRead(std::optional{othersRecord("v1", 41)});
  m.step(event::TokenSeen{FencingToken{57}});  // a resource told of it
  m.step(event::StoreHint{});
  m.answerRead(std::optional{releasedRecord("v2", 12)});  // the counter was reset
  m.toWakeup();
  EXPECT_EQ(m.write().tokenFloor, FencingToken{57});
  EXPECT_TRUE(m.write().record.token.isNone()) << "the store gives it";
  m.answerWrite(Applied{FencingToken{58}});
  m.after(3s);
  EXPECT_EQ(m.write().record.token, FencingToken{58});
}

TEST(I7TokenRises, aTermWithATokenThatDoesNotRiseIsNotLed) {
  for (const std::uint64_t token : {std::uint64_t{0}, std::uint64_t{4}, std::uint64_t{5}}) {
    MachineHarness m;
    m.becomeReading();
    m.answerRead(std::optional{releasedRecord("v1", 5)});
    m.toWakeup();
    const LeaseRecord own = m.written(token);
    EXPECT_EQ(m.answerWrite(Applied{FencingToken{token}}), "log read");
    EXPECT_FALSE(m.leads());
    EXPECT_NE(m.machine.lastError()->message.find("but 5 was seen before"), std::string::npos);
    EXPECT_EQ(m.answerRead(std::optional{own}), "");
    const Instant from = m.now;
    EXPECT_EQ(readUntilElse(m, own), "acquire");
    EXPECT_GE(elapsedForHolder(from, m.now), 375ms) << "a store that is broken for good is not asked without a pause";
    EXPECT_EQ(m.answerWrite(Applied{FencingToken{6}}), "publish(leads) leader(self) elected(6)");
  }
}

TEST(I7TokenRises, aHigherTokenSeenDuringTheAcquisitionMeansAnotherOne) {
  MachineHarness m;
  m.becomeAcquiring();
  m.step(event::TokenSeen{FencingToken{9}});
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{1}}), "log read");
  const LeaseRecord own = m.written(1);
  m.answerRead(std::optional{own});
  EXPECT_EQ(readUntilElse(m, own), "acquire");
  EXPECT_EQ(m.write().tokenFloor, FencingToken{9});

  MachineHarness lost;  // the same with a reply that was lost
  lost.becomeAcquiring();
  const LeaseRecord mine = lost.written(1);
  lost.step(event::TokenSeen{FencingToken{9}});
  EXPECT_EQ(lost.answerWrite(Unknown{transientError()}), "read");
  EXPECT_EQ(lost.answerRead(std::optional{mine}), "");
  EXPECT_EQ(lost.elections(), 0U);
}

TEST(I7TokenRises, aResourceThatSawAHigherTokenEndsTheTerm) {
  MachineHarness m;
  m.becomeLeading(3);
  EXPECT_EQ(m.step(event::TokenSeen{FencingToken{2}}), "");
  EXPECT_EQ(m.step(event::TokenSeen{FencingToken{3}}), "");
  EXPECT_EQ(m.step(event::TokenSeen{FencingToken{4}}), "publish(lost) revoked(lost) publish(none) read");
  EXPECT_EQ(m.revocations().back().detail, "a resource has seen the token 4, higher than this term's 3");
}

// ---- I8: a write whose reply was lost is unknown ----

/// Pitfalls 1, 30; fault T6: lost replies alone never cost the term.
TEST(I8LostReplies, twoOfThreeRenewalsWithoutAReplyCostNothing) {
  for (const bool arrives : {true, false}) {
    MachineHarness m;
    m.becomeLeading();
    LeaseRecord stored = m.written();
    for (int i = 0; i < 300; ++i) {
      ASSERT_EQ(m.toWakeup(), "renew");
      const bool matches = m.expected().find(stored.version.text()) != std::string::npos;
      ASSERT_TRUE(matches) << "the condition names every version that the record may have";
      const bool answered = i % 3 == 2;
      if (arrives || answered) stored = m.written();
      m.answerWrite(answered ? WriteOutcome{Applied{FencingToken{1}}} : WriteOutcome{Unknown{transientError()}});
    }
    EXPECT_TRUE(m.revocations().empty());
    EXPECT_TRUE(m.leads());
  }
}

TEST(I8LostReplies, aStoreThatNeverAnswersIsGivenUpAndAskedAgain) {
  MachineHarness m;
  m.becomeRenewing();
  std::string did;
  while (did.empty()) did = m.toWakeup();
  EXPECT_EQ(did, "inDoubt");
  EXPECT_EQ(m.machine.lastError()->message, "the store did not answer within 2994 ms");
  EXPECT_EQ(m.toWakeup(), "renew");
  EXPECT_EQ(m.write().expected.size(), 2U);
}

TEST(I8LostReplies, anUnknownWriteIsNeverSuccess) {
  MachineHarness m;
  m.becomeAcquiring();
  m.answerWrite(Unknown{transientError()});
  EXPECT_EQ(m.elections(), 0U);
  EXPECT_FALSE(m.leads());
  MachineHarness renewing;
  renewing.becomeRenewing();
  const Instant anchor = renewing.published().anchor;
  renewing.answerWrite(Unknown{transientError()});
  EXPECT_EQ(renewing.published().anchor, anchor);
}

TEST(I8LostReplies, ofManyLostAcquisitionsTheOneThatArrivedIsTheTerm) {
  MachineHarness m;
  m.becomeAcquiring();
  std::vector<LeaseRecord> sent;
  std::vector<Instant> sentAt;
  for (int i = 0; i < 3; ++i) {
    sent.push_back(m.written());
    sentAt.push_back(m.now);
    EXPECT_EQ(m.answerWrite(Unknown{transientError()}), "read");
    m.answerRead(absent);
    ASSERT_EQ(readUntilElse(m, absent), "acquire");
  }
  m.answerWrite(Unknown{transientError()});
  m.answerRead(std::optional{sent[1]});
  ASSERT_TRUE(m.leads());
  EXPECT_EQ(m.published().anchor, sentAt[1]);
  m.after(3s);
  EXPECT_EQ(m.expected(), sent[1].version.text());
}

/// More lost acquisitions than are remembered: the forgotten one is found as a record of one's own and taken anew.
TEST(I8LostReplies, aForgottenAcquisitionThatArrivedIsTakenOverWithoutWaitingForOneself) {
  MachineHarness m;
  m.becomeAcquiring();
  const LeaseRecord first = m.written();
  for (int i = 0; i < 5; ++i) {
    m.answerWrite(Unknown{transientError()});
    m.answerRead(absent);
    ASSERT_EQ(readUntilElse(m, absent), "acquire");
  }
  const Instant from = m.now;
  EXPECT_EQ(m.answerWrite(Conflict{std::optional{first}}), "");
  EXPECT_EQ(readUntilElse(m, first), "acquire");
  EXPECT_EQ(m.expected(), first.version.text());
  EXPECT_LE(elapsedForHolder(from, m.now), 500ms);
}

// ---- I9: order on stepping down ----

/// Pitfalls 11, 27: stop signal, work ended, the renewal's outcome awaited, then the release with the final version.
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

/// Pitfalls 8, 31, 49: errors of every kind, for as long as they last, and lost races.
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

/// Pitfall 16; fault T13: the former holder of a record that is gone is back at once, with a higher token.
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

/// The last error is the last one, with its time; a new doubt never shows an old error.
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

/// Pitfall 42.
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
  options.guard = 1s;
  options.stopMargin = 1s;
  MachineHarness m{options};
  m.becomeLeading();
  m.now = m.now + 7s;  // woken late, but not paused by much
  m.wake();
  m.now = m.now + 1s;
  m.wake();
  EXPECT_EQ(m.revocations().back().reason, RevokeReason::storeUnreachable);
  EXPECT_EQ(m.revocations().back().detail, "the renewal was not answered in time");
}

TEST(Reasons, aMachineThatIsWokenLateIsExpired) {
  LeaseOptions options = tenSecondLease();
  options.heartbeat = 4s;
  options.guard = 1s;
  options.stopMargin = 1s;
  MachineHarness m{options};
  m.becomeLeading();
  m.now = m.now + 2s;
  m.wake();
  m.now = m.now + 6s;  // late, but not by so much that it counts as a pause
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

/// Pitfall 29: each request's time-out leaves room for another before the deadline.
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
  record.beacon = Beacon{"beacon-1", "boot", 1, 2};
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

TEST(DeathNotices, ownBeaconGoesIntoEveryRecord) {
  MachineHarness m;
  const Beacon mine{"beacon-0", "boot", 3, 4};
  m.step(event::Start{mine});
  m.answerRead(absent);
  m.toWakeup();
  EXPECT_EQ(m.write().record.beacon, mine);
  m.answerWrite(Applied{FencingToken{1}});
  m.after(3s);
  EXPECT_EQ(m.write().record.beacon, mine);
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

/// What stepDown() promises: "not taken again for one lease, so that others get it". Also if the work did not end in
/// time, so that nothing could be released.
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

/// What was observed before a term is no ground to act on after it.
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

}  // namespace
}  // namespace tenure::test
