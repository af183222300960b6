// A candidate that is not ready: it watches, and no work of it begins.
#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

constexpr event::SetReady notReady{false};
const event::SetReady ready{true};

TEST(Ready, aCandidateThatIsNotReadyReadsAndDoesNotAcquireAFreeLease) {
  MachineHarness m;
  m.step(notReady);
  m.step(event::Start{});
  m.answerRead(absent);
  for (const Instant end = m.now + 60s; elapsedForChallenger(m.now, end) > 0s;) {
    ASSERT_EQ(m.toWakeup(), "read");
    m.answerRead(absent);
  }
  EXPECT_FALSE(m.machine.isReady());
  EXPECT_EQ(m.state(), LeaseState::candidate);
}

TEST(Ready, whoTurnsReadyAcquiresAtOnceALeaseThatItHasSeenToBeFree) {
  MachineHarness m;
  m.step(notReady);
  m.step(event::Start{});
  m.answerRead(std::optional{releasedRecord()});
  m.after(100ms);
  EXPECT_EQ(m.step(ready), "acquire");
}

/// I3: the wait for a dead holder has gone on, so a lease is not waited for twice.
TEST(Ready, theWaitForAHolderCountsWhileItIsNotReady) {
  MachineHarness m;
  m.becomeCandidate();
  const Instant seen = m.now;
  m.step(notReady);
  while (elapsedForHolder(seen, m.now) < 12s) {
    ASSERT_EQ(m.toWakeup(), "read");
    m.answerRead(std::optional{othersRecord()});
  }
  EXPECT_EQ(m.step(ready), "acquire");
}

TEST(Ready, aTermThatIsWonByWhoTurnedUnreadyIsReleasedBeforeAnyWork) {
  MachineHarness m;
  m.becomeAcquiring();
  EXPECT_EQ(m.step(notReady), "");
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{1}}), "log publish(none) release");
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{1}}), "read");
  EXPECT_EQ(m.elections(), 0U);
  EXPECT_TRUE(m.revocations().empty());
}

/// I8: the acquisition was not answered, and the next read shows that it arrived.
TEST(Ready, anAcquisitionThatIsFoundLaterIsReleasedAsWell) {
  MachineHarness m;
  m.becomeAcquiring();
  m.answerWrite(Unknown{transientError()});
  m.step(notReady);
  EXPECT_EQ(m.answerRead(std::optional{m.written()}), "log publish(none) release");
  EXPECT_EQ(m.elections(), 0U);
}

/// I7: a term below the floor is not kept to be won again, which an unready candidate never would.
TEST(Ready, aTermWithATokenBelowTheFloorIsReleasedAsWell) {
  MachineHarness m;
  m.becomeAcquiring();
  m.step(event::TokenSeen{FencingToken{3}});
  m.step(notReady);
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{1}}), "log publish(none) release");
}

TEST(Ready, aLeaderThatTurnsUnreadyLeadsOnUnlessItIsToStepDown) {
  MachineHarness m;
  m.becomeLeading();
  EXPECT_EQ(m.step(notReady), "");
  EXPECT_TRUE(m.leads());
  EXPECT_FALSE(m.machine.isReady());
  EXPECT_EQ(m.step(event::SetReady{false, true, "the disk is full"}), "publish(ends) revoked(steppedDown)");
  ASSERT_EQ(m.revocations().size(), 1U);
  EXPECT_EQ(m.revocations().front().detail, "the disk is full");
}

TEST(Ready, turningReadyDoesNotEndTheTimeThatALeaderLeavesToOthers) {
  MachineHarness m;
  m.becomeLeading();
  m.step(event::SetReady{false, true, "for a test"});
  m.step(event::WorkEnded{});
  m.answerWrite(Applied{FencingToken{1}});
  EXPECT_EQ(m.step(ready), "");
  EXPECT_GT(m.machine.cooldown(m.now), 9s);
}

}  // namespace
}  // namespace tenure::test
