// What a machine of OneTerm knows from the candidacies of its process before it, and what it must await of them.
#include "lockcore/one_term.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// The record may have the data of that acquisition, or what was merged with it.
TEST(LeaseMachineOneTerm, theNextOfItsProcessReadsWhatAnUnansweredAcquisitionLeft) {
  MachineHarness first{tenSecondLease(), patient(0ns)};
  first.becomeAcquiring();
  first.answerWrite(Unknown{transientError()});
  first.answerRead(transientError());
  first.answerWrite(Applied{FencingToken{1}});
  ASSERT_EQ(first.state(), LeaseState::stopped);
  OneTerm second = patient(0ns);
  second.memory = first.memory();
  MachineHarness m{tenSecondLease(), second};
  EXPECT_EQ(m.step(event::Start{}), "read");
}

/// The acquisition was answered only after the candidacy was stopped, and nobody was told of its term.
TEST(LeaseMachineOneTerm, whatATermForNobodyLeftIsLookedAtByTheNextOfItsProcess) {
  MachineHarness first{tenSecondLease(), patient(std::nullopt)};
  first.step(event::Start{});
  LeaseRecord free = releasedRecord();
  free.data = "data";
  ASSERT_EQ(first.answerRead(std::optional{free}), "leader(none) acquire");
  first.step(event::Stop{});
  ASSERT_EQ(first.answerWrite(Applied{FencingToken{6}}), "publish(none) release");
  first.answerWrite(Applied{FencingToken{6}});
  ASSERT_EQ(first.state(), LeaseState::stopped);
  OneTerm second = patient(0ns);
  second.memory = first.memory();
  MachineHarness m{tenSecondLease(), second};
  m.now = first.now;
  EXPECT_EQ(m.step(event::Start{}), "read");
}

TEST(LeaseMachineOneTerm, workBeyondTheDrainTimeoutKeepsTheLeaseFromItsProcessToo) {
  MachineHarness first{tenSecondLease(), patient(std::nullopt)};
  first.becomeLeading();
  first.step(event::StepDown{});
  for (int i = 0; i < 100 && first.state() != LeaseState::stopped; ++i) {
    if (first.toWakeup() == "renew") first.answerWrite(Applied{FencingToken{1}});
  }
  ASSERT_TRUE(first.memory());
  ASSERT_TRUE(first.published().validAt(first.now)) << "the work may use the lease up";
  OneTerm second = patient(std::nullopt);
  second.memory = first.memory();
  MachineHarness m{tenSecondLease(), second};
  m.now = first.now;
  EXPECT_EQ(m.step(event::Start{}), "read");
  m.answerRead(std::optional{first.written()});
  ASSERT_EQ(m.state(), LeaseState::candidate) << "its work may still run";
  const Instant seen = m.now;
  EXPECT_EQ(readUntilElse(m, first.written()), "acquire");
  EXPECT_GE(elapsedForChallenger(seen, m.now), 10s);
}

TEST(LeaseMachineOneTerm, I1_anEndedTermIsWoundUpBeforeTheNextOfItsProcessLeads) {
  MachineHarness first{tenSecondLease(), patient(std::nullopt)};
  first.becomeLeading();
  const LeaseRecord record = first.written();
  for (int i = 0; i < 100 && first.state() != LeaseState::stopped; ++i) {
    if (first.toWakeup() == "renew") first.answerWrite(Rejected{transientError()});
  }
  ASSERT_TRUE(first.memory());
  ASSERT_TRUE(first.published().validAt(first.now)) << "its work winds up";
  OneTerm second = patient(std::nullopt);
  second.memory = first.memory();
  MachineHarness m{tenSecondLease(), second};
  m.now = first.now;
  m.step(event::Start{});
  m.answerRead(std::optional{record});
  ASSERT_EQ(m.state(), LeaseState::candidate);
  EXPECT_EQ(readUntilElse(m, record), "acquire");
  EXPECT_FALSE(first.published().validAt(m.now));
  EXPECT_LT(elapsedForHolder(first.now, m.now), 2s) << "no longer than the stop margin";
}

TEST(LeaseMachineOneTerm, oneLookDoesNotWaitForATermOfItsProcessThatIsWoundUp) {
  MachineHarness first{tenSecondLease(), patient(std::nullopt)};
  first.becomeLeading();
  const LeaseRecord record = first.written();
  first.after(9s);
  ASSERT_TRUE(first.memory());
  OneTerm second = patient(0ns);
  second.memory = first.memory();
  MachineHarness m{tenSecondLease(), second};
  m.now = first.now;
  m.step(event::Start{});
  EXPECT_NE(m.answerRead(std::optional{record}).find("gaveUp(held)"), std::string::npos);
}

TEST(LeaseMachineOneTerm, memoryOfADeadHoldersRecordShortensTheNextWait) {
  MachineHarness first{tenSecondLease(), patient(0ns)};
  first.step(event::Start{});
  first.answerRead(std::optional{othersRecord()});
  ASSERT_TRUE(first.memory());
  OneTerm second = patient(0ns);
  second.memory = first.memory();
  MachineHarness m{tenSecondLease(), second};
  m.now = first.now + 10s;
  EXPECT_EQ(m.step(event::Start{}), "read") << "what was seen long ago is not acted upon without a look";
  EXPECT_EQ(m.answerRead(std::optional{othersRecord()}), "leader(b#2) acquire");
  EXPECT_EQ(m.expected(), "other-1");
}

TEST(LeaseMachineOneTerm, memoryOfARecordThatChangedSinceCountsForNothing) {
  MachineHarness first{tenSecondLease(), patient(0ns)};
  first.step(event::Start{});
  first.answerRead(std::optional{othersRecord()});
  OneTerm second = patient(0ns);
  second.memory = first.memory();
  MachineHarness m{tenSecondLease(), second};
  m.now = first.now + 10s;
  m.step(event::Start{});
  EXPECT_EQ(m.answerRead(std::optional{othersRecord("other-2")}), "leader(b#2) gaveUp(held) unfollow stopped(notHeld)");
}

TEST(LeaseMachineOneTerm, whatWasReleasedByTheOwnHandIsTakenWithoutALook) {
  MachineHarness first{tenSecondLease(), patient(0ns)};
  first.becomeLeading();
  first.step(event::Release{});
  const std::string left = first.write().record.version.text();
  first.answerWrite(Applied{FencingToken{1}});
  OneTerm second = patient(0ns);
  second.memory = first.memory();
  MachineHarness m{tenSecondLease(), second};
  m.now = first.now;
  EXPECT_EQ(m.step(event::Start{}), "acquire");
  EXPECT_EQ(m.expected(), left);
  EXPECT_EQ(m.write().tokenFloor, FencingToken{1}) << "I7";
}

/// What is left by another candidate that releases its term with token 1, and the version of its release.
struct Left {
  std::shared_ptr<const LeaseMemory> memory;
  std::string version;
};

Left leftBy(const event::Release& release, const WriteOutcome& answer = Applied{FencingToken{1}}) {
  MachineHarness first{tenSecondLease(), patient(0ns)};
  first.random = SeededRandom{8};
  first.becomeLeading();
  first.step(release);
  const std::string version = first.write().record.version.text();
  first.answerWrite(answer);
  return {first.memory(), version};
}

TEST(LeaseMachineOneTerm, whatThePredecessorReleasedIsTakenWithoutALook) {
  const Left left = leftBy({});
  MachineHarness m{tenSecondLease(), patient(std::nullopt)};
  EXPECT_EQ(m.step(event::Start{.predecessor = left.memory}), "acquire");
  EXPECT_EQ(m.expected(), left.version);
  EXPECT_EQ(m.write().tokenFloor, FencingToken{1}) << "I7";
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{2}}), "publish(leads) leader(self) elected(2)");
}

TEST(LeaseMachineOneTerm, whatThePredecessorReleasedCountsMoreThanTheOwnMemory) {
  OneTerm second = patient(std::nullopt);
  second.memory = leftBy({}).memory;
  const Left left = leftBy({});
  MachineHarness m{tenSecondLease(), second};
  EXPECT_EQ(m.step(event::Start{.predecessor = left.memory}), "acquire");
  EXPECT_EQ(m.expected(), left.version);
}

TEST(LeaseMachineOneTerm, aPredecessorThatLeftDataOrMayNotHaveReleasedIsLookedAfter) {
  const WriteOutcome stolen = Conflict{std::optional{othersRecord()}};
  for (const Left& left : {leftBy({.data = "x"}), leftBy({.removes = true}), leftBy({}, stolen)}) {
    OneTerm second = patient(std::nullopt);
    second.memory = leftBy({}).memory;
    MachineHarness m{tenSecondLease(), second};
    EXPECT_EQ(m.step(event::Start{.predecessor = left.memory}), "read") << "what is remembered is older still";
  }
}

TEST(LeaseMachineOneTerm, whoeverTookItAfterThePredecessorIsSeenByTheConflict) {
  MachineHarness m{tenSecondLease(), patient(std::nullopt)};
  m.step(event::Start{.predecessor = leftBy({}).memory});
  EXPECT_EQ(m.answerWrite(Conflict{std::optional{othersRecord()}}), "leader(b#2)");
  EXPECT_EQ(m.after(9s), "read");
}

TEST(LeaseMachineOneTerm, aTryWithoutALookThatFailsIsNoLostRace) {
  MachineHarness m{tenSecondLease(), patient(std::nullopt)};
  m.step(event::Start{.predecessor = leftBy({}).memory});
  EXPECT_EQ(m.answerWrite(Conflict{std::optional{releasedRecord()}}), "leader(none) acquire") << "at once";
  EXPECT_EQ(m.expected(), "gone-1");
  EXPECT_EQ(m.answerWrite(Conflict{std::optional{releasedRecord("gone-2")}}), "") << "that was a race";
}

TEST(LeaseMachineOneTerm, anElectorHasNoPredecessor) {
  MachineHarness m;
  EXPECT_EQ(m.step(event::Start{.predecessor = leftBy({}).memory}), "read");
}

/// A standby without that term may be promoted meanwhile, or the record be removed.
class AfterARefusedRelease : public testing::Test {
 protected:
  AfterARefusedRelease() {
    MachineHarness first{tenSecondLease(), patient(0ns)};
    first.becomeLeading();
    first.step(event::Release{});
    first.answerWrite(Conflict{std::optional{othersRecord("other-1", 9)}});
    OneTerm second = patient(std::nullopt);
    second.memory = first.memory();
    next_.emplace(tenSecondLease(), second);
    next_->now = released_ = first.now;
    next_->step(event::Start{});
    if (next_->answerRead(absent).find("acquire") == std::string::npos) readUntilElse(*next_, absent);
  }

  Instant released_;
  std::optional<MachineHarness> next_;
};

TEST_F(AfterARefusedRelease, I7_theTokenOfWhoTookItIsKnownToTheNextOfItsProcess) {
  EXPECT_EQ(next_->write().tokenFloor, FencingToken{9});
}

TEST_F(AfterARefusedRelease, I3_theLeaseOfWhoTookItIsWaitedOutByTheNextOfItsProcess) {
  EXPECT_GE(elapsedForHolder(released_, next_->now), 10s) << "whoever took it may be at work";
}

/// The first candidacy has won nothing: its acquisition is not answered, and then it is shown who leads.
TEST(LeaseMachineOneTerm, I3_theNextOfItsProcessWaitsOutWhatAnEarlierCandidacySaw) {
  MachineHarness first{tenSecondLease(), patient(1s)};
  first.becomeAcquiring();
  first.answerWrite(Unknown{transientError()});
  first.answerRead(std::optional{othersRecord("other-1", 9)});
  while (first.state() != LeaseState::releasing) first.toWakeup();
  first.answerWrite(Conflict{});
  ASSERT_EQ(first.state(), LeaseState::stopped);
  OneTerm second = patient(std::nullopt);
  second.memory = first.memory();
  MachineHarness m{tenSecondLease(), second};
  m.now = first.now;
  m.step(event::Start{});
  m.answerRead(absent);  // a promotion has lost that term
  ASSERT_EQ(m.state(), LeaseState::candidate);
  EXPECT_EQ(readUntilElse(m, absent), "acquire");
  EXPECT_GE(elapsedForHolder(first.now, m.now), 10s);
}

TEST(LeaseMachineOneTerm, I3_whoTookALockFromItsHolderIsWaitedOutByTheNextOfItsProcess) {
  MachineHarness first{tenSecondLease(), patient(std::nullopt)};
  first.becomeLeading();
  first.toWakeup();
  first.answerWrite(Conflict{std::optional{othersRecord("other-1", 9)}});
  ASSERT_EQ(first.state(), LeaseState::stopped);
  OneTerm second = patient(std::nullopt);
  second.memory = first.memory();
  MachineHarness m{tenSecondLease(), second};
  m.now = first.now;
  m.step(event::Start{});
  m.answerRead(absent);
  ASSERT_EQ(m.state(), LeaseState::candidate);
  EXPECT_EQ(readUntilElse(m, absent), "acquire");
  EXPECT_GE(elapsedForHolder(first.now, m.now), 10s);
}

/// The release is not answered, so nothing else shows that token.
TEST(LeaseMachineOneTerm, I7_theTokenSeenDuringTheReleaseIsKnownToTheNextOfItsProcess) {
  MachineHarness first{tenSecondLease(), patient(std::nullopt)};
  first.becomeAcquiring();
  ASSERT_EQ(first.answerWrite(Unknown{transientError()}), "read");
  ASSERT_EQ(first.step(event::Stop{}), "publish(none)");
  ASSERT_EQ(first.answerRead(std::optional{othersRecord("other-1", 9)}), "release");
  first.after(20s);
  ASSERT_EQ(first.state(), LeaseState::stopped);
  OneTerm second = patient(0ns);
  second.memory = first.memory();
  MachineHarness m{tenSecondLease(), second};
  m.now = first.now;
  m.step(event::Start{});
  m.answerRead(absent);
  EXPECT_EQ(m.write().tokenFloor, FencingToken{9});
}

}  // namespace
}  // namespace tenure::test
