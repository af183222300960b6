// A machine of OneTerm: patience, one look, its one term. And a machine that only observes.
#include "lockcore/one_term.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

TEST(LeaseMachineOneTerm, oneLookAtAHeldRecordGivesUp) {
  MachineHarness m{tenSecondLease(), patient(0ns)};
  EXPECT_EQ(m.step(event::Start{}), "read");
  EXPECT_EQ(m.answerRead(std::optional{othersRecord()}), "leader(b#2) gaveUp(held) unfollow stopped(notHeld)");
}

TEST(LeaseMachineOneTerm, oneLookAtAFreeRecordAcquiresAtOnce) {
  for (const auto& free : {absent, std::optional{releasedRecord()}}) {
    MachineHarness m{tenSecondLease(), patient(0ns)};
    m.step(event::Start{});
    EXPECT_EQ(m.answerRead(free), "leader(none) acquire");
    EXPECT_EQ(m.answerWrite(Applied{FencingToken{6}}), "publish(leads) leader(self) elected(6)");
  }
}

TEST(LeaseMachineOneTerm, aReadThatFailsGivesUpWithTheError) {
  MachineHarness m{tenSecondLease(), patient(0ns)};
  m.step(event::Start{});
  EXPECT_EQ(m.answerRead(transientError()), "gaveUp(unavailable) unfollow stopped(notHeld)");
}

TEST(LeaseMachineOneTerm, aReadThatIsNeverAnsweredGivesUpToo) {
  MachineHarness m{tenSecondLease(), patient(0ns)};
  m.step(event::Start{});
  EXPECT_EQ(m.toWakeup(), "gaveUp(unavailable) unfollow stopped(notHeld)");
}

TEST(LeaseMachineOneTerm, anAcquisitionThatIsRefusedGivesUp) {
  MachineHarness m{tenSecondLease(), patient(0ns)};
  m.becomeAcquiring();
  EXPECT_EQ(m.answerWrite(Rejected{transientError()}), "gaveUp(unavailable) unfollow stopped(notHeld)");
}

TEST(LeaseMachineOneTerm, aLostRaceNamesTheWinner) {
  MachineHarness m{tenSecondLease(), patient(0ns)};
  m.becomeAcquiring();
  EXPECT_EQ(m.answerWrite(Conflict{std::optional{othersRecord()}}),
            "leader(b#2) gaveUp(held) unfollow stopped(notHeld)");
}

TEST(LeaseMachineOneTerm, anAcquisitionInDoubtIsLookedAtAndAdopted) {
  MachineHarness m{tenSecondLease(), patient(0ns)};
  m.becomeAcquiring();
  const LeaseRecord won = m.written(1);
  EXPECT_EQ(m.answerWrite(Unknown{transientError()}), "read");
  EXPECT_EQ(m.answerRead(std::optional{won}), "publish(leads) leader(self) elected(1)");
}

TEST(LeaseMachineOneTerm, anAcquisitionInDoubtThatIsNotSeenIsReleasedAtTheEnd) {
  MachineHarness m{tenSecondLease(), patient(0ns)};
  m.becomeAcquiring();
  m.answerWrite(Unknown{transientError()});
  EXPECT_EQ(m.answerRead(transientError()), "gaveUp(unavailable) publish(none) release");
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{1}}), "unfollow stopped(released)");
}

TEST(LeaseMachineOneTerm, theTimeOfTheAcquisitionIsWhatTheAcquiringWriteSaid) {
  MachineHarness m{tenSecondLease(), patient(std::nullopt)};
  MachineHarness::displayedMillis = 1000;
  m.becomeAcquiring();
  MachineHarness::displayedMillis = 2000;
  m.answerWrite(Applied{FencingToken{1}});
  MachineHarness::displayedMillis = 3000;
  ASSERT_EQ(m.after(3s), "renew");
  EXPECT_EQ(m.write().record.acquiredAtMillis, 1000);
  EXPECT_EQ(m.write().record.renewedAtMillis, 3000);
}

TEST(LeaseMachineOneTerm, patienceEndsOnTimeAlsoWhileAReadIsUnderWay) {
  MachineHarness m{tenSecondLease(), patient(5s)};
  m.step(event::Start{});
  m.answerRead(std::optional{othersRecord()});
  m.after(3s);  // reads again, and gets no answer
  EXPECT_EQ(m.after(1999ms), "");
  EXPECT_EQ(m.after(1ms), "gaveUp(held) unfollow stopped(notHeld)");
}

TEST(LeaseMachineOneTerm, withoutPatienceItCompetesForEver) {
  MachineHarness m{tenSecondLease(), patient(std::nullopt)};
  m.step(event::Start{});
  m.answerRead(std::optional{othersRecord("v-0")});
  for (int i = 1; i < 1000; ++i) {
    m.toWakeup();
    m.answerRead(std::optional{othersRecord("v-" + std::to_string(i))});
  }
  EXPECT_EQ(m.state(), LeaseState::candidate);
}

TEST(LeaseMachineOneTerm, mustExistGivesUpOnAMissingRecordWhateverThePatience) {
  MachineHarness m{tenSecondLease(), patient(std::nullopt, true)};
  m.step(event::Start{});
  EXPECT_EQ(m.answerRead(absent), "leader(none) gaveUp(missing) unfollow stopped(notHeld)");
}

TEST(LeaseMachineOneTerm, aTermThatIsLostDoesNotComeBack) {
  MachineHarness m{tenSecondLease(), patient(std::nullopt)};
  m.becomeLeading();
  EXPECT_EQ(m.step(event::TokenSeen{FencingToken{9}}),
            "publish(lost) revoked(lost) publish(none) unfollow stopped(notHeld)");
  EXPECT_EQ(m.after(1min), "");
}

TEST(LeaseMachineOneTerm, theHolderThatEndedTheTermIsToldBeforeTheEndAndNotFollowed) {
  MachineHarness m{tenSecondLease(), patient(std::nullopt)};
  m.becomeRenewing();
  LeaseRecord theirs = othersRecord();
  theirs.livenessFile = LivenessFile{.id = std::string(32, 'b'), .bootId = "boot"};
  EXPECT_EQ(m.answerWrite(Conflict{std::optional{theirs}}),
            "publish(lost) revoked(lost) publish(none) leader(b#2) unfollow stopped(notHeld)");
}

TEST(LeaseMachineOneTerm, aTermThatExpiresDoesNotComeBack) {
  MachineHarness m{tenSecondLease(), patient(std::nullopt)};
  m.becomeLeading();
  EXPECT_EQ(m.after(20s), "publish(ends) revoked(expired) unfollow stopped(notHeld)");
}

TEST(LeaseMachineOneTerm, workThatOutlastsTheDrainTimeoutLeavesTheLeaseToExpire) {
  MachineHarness m{tenSecondLease(), patient(std::nullopt)};
  m.becomeLeading();
  m.step(event::Stop{});
  std::string last;
  for (int i = 0; i < 100 && m.state() != LeaseState::stopped; ++i) {
    last = m.toWakeup();
    if (last == "renew") m.answerWrite(Applied{FencingToken{1}});
  }
  EXPECT_EQ(last, "log unfollow stopped(notDrained)");
}

TEST(LeaseMachineOneTerm, aRecordThatMustExistIsLookedForAfterItsRemoval) {
  MachineHarness first{tenSecondLease(), patient(std::nullopt)};
  first.becomeLeading();
  first.step(event::Release{{}, true});
  first.answerWrite(Applied{FencingToken{1}});
  ASSERT_TRUE(first.memory());
  OneTerm second = patient(std::nullopt, true);
  second.memory = first.memory();
  MachineHarness m{tenSecondLease(), second};
  m.now = first.now;
  EXPECT_EQ(m.step(event::Start{}), "read");
  EXPECT_NE(m.answerRead(absent).find("gaveUp(missing)"), std::string::npos);
}

/// Its driver steps it again at once, for as long as that lasts.
TEST(LeaseMachineOneTerm, aFreeLeaseThatMayNotBeTakenYetIsPolledWithPauses) {
  MachineHarness m{tenSecondLease(), patient(0ns)};
  m.becomeAcquiring();
  m.answerWrite(Conflict{std::optional{releasedRecord("gone-2")}});
  ASSERT_EQ(m.state(), LeaseState::candidate);
  const auto until = m.machine.untilWakeup(m.now);
  ASSERT_TRUE(until);
  EXPECT_GT(*until, 0ns);
  EXPECT_EQ(m.toWakeup(), "acquire");
}

/// A resource reported a higher token while the acquisition was under way.
TEST(LeaseMachineOneTerm, whatWasWonUnderATokenThatIsTooLowIsReleasedIfItIsNotWonAgain) {
  MachineHarness m{tenSecondLease(), patient(0ns)};
  m.becomeAcquiring();
  const std::string won = m.write().record.version.text();
  m.step(event::TokenSeen{FencingToken{50}});
  m.answerWrite(Applied{FencingToken{1}});
  m.answerRead(std::optional{m.written(1)});
  while (m.state() == LeaseState::candidate) m.toWakeup();
  const std::string done = m.answerWrite(Rejected{transientError()});
  EXPECT_NE(done.find("gaveUp(unavailable) publish(none) release"), std::string::npos) << done;
  EXPECT_NE(m.expected().find(won), std::string::npos) << "it would be held for nobody for a whole lease";
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{1}}), "unfollow stopped(released)");
}

TEST(LeaseMachineOneTerm, aRemovalIsNotBelievedWhileAFirstAcquisitionMayArrive) {
  MachineHarness m{tenSecondLease(), patient(std::nullopt)};
  m.becomeAcquiring();
  m.answerWrite(Unknown{transientError()});
  m.answerRead(absent);
  while (m.state() == LeaseState::candidate) m.toWakeup();
  ASSERT_EQ(m.answerWrite(Applied{FencingToken{1}}), "publish(leads) leader(self) elected(1)");
  m.step(event::Release{{}, true});
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{1}}), "log leader(none) unfollow stopped(unknown)");
}

/// The store shows what was true before: nothing to the read, and to the release the record of the term before.
TEST(LeaseMachineOneTerm, aReleaseIsNotTakenForThatOfAnAcquisitionUnderWay) {
  MachineHarness first{tenSecondLease(), patient(std::nullopt)};
  first.becomeLeading();
  first.step(event::Release{});
  LeaseRecord left = first.written(1);
  left.released = true;
  first.answerWrite(Applied{FencingToken{1}});
  OneTerm second = patient(std::nullopt, true);
  second.memory = first.memory();
  MachineHarness m{tenSecondLease(), second};
  m.now = first.now;
  ASSERT_EQ(m.step(event::Start{}), "acquire") << "what the term before has left is known";
  m.answerWrite(Unknown{transientError()});
  ASSERT_NE(m.answerRead(absent).find("gaveUp(missing)"), std::string::npos);
  EXPECT_EQ(m.answerWrite(Conflict{std::optional{left}}), "log unfollow stopped(unknown)");
}

TEST(LeaseMachineOneTerm, aStoreThatTellsOfAFreeLeaseAndAnswersNoAcquisitionEndsTheWait) {
  for (const WriteOutcome& doubt : {WriteOutcome{Unknown{transientError()}}, WriteOutcome{Conflict{}}}) {
    MachineHarness m{tenSecondLease(), patient(0ns)};
    m.becomeAcquiring();
    ASSERT_EQ(m.answerWrite(doubt), "read");
    m.answerRead(absent);
    ASSERT_EQ(readUntilElse(m, absent), "acquire") << "a free lease is worth a second try";
    ASSERT_EQ(m.answerWrite(doubt), "read");
    EXPECT_EQ(m.answerRead(absent), "gaveUp(unavailable) publish(none) release");
  }
}

/// Only writes that were in doubt when the wait was over count.
TEST(LeaseMachineOneTerm, whatWasInDoubtDuringTheWaitTakesNoTryFromItsEnd) {
  MachineHarness m{tenSecondLease(), patient(1min)};
  m.becomeAcquiring();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(m.answerWrite(Unknown{transientError()}), "read");
    m.answerRead(absent);
    ASSERT_EQ(readUntilElse(m, absent), "acquire");
  }
  m.now = m.now + 1min;
  ASSERT_EQ(m.after(0s), "read");
  m.answerRead(absent);
  EXPECT_EQ(readUntilElse(m, absent), "acquire");
}

TEST(LeaseMachineObserver, itNeverCompetes) {
  MachineOptions options{LeaseKey{"lease"}, selfName, LeaseTiming::from(tenSecondLease()).value()};
  options.observesOnly = true;
  SeededRandom random{7};
  LeaseMachine machine{std::move(options), random};
  Instant now{1h, 2h, 3h};
  LeaseActions actions = machine.step(now, event::Start{});
  for (int i = 0; i < 100; ++i) {
    for (const LeaseAction& action : actions) ASSERT_FALSE(std::holds_alternative<action::SendWrite>(action));
    if (!actions.empty() && std::holds_alternative<action::SendRead>(actions.back())) {
      actions = machine.step(now, event::ReadReply{std::get<action::SendRead>(actions.back()).attempt, absent});
      continue;
    }
    now = now + std::max(machine.untilWakeup(now).value(), std::chrono::nanoseconds{1ms});
    actions = machine.step(now, event::Wakeup{});
  }
}

}  // namespace
}  // namespace tenure::test
