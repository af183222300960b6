// A release x each answer that a store can give.
#include <string>
#include <vector>

#include "lockcore/lease_machine_replies.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

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
TEST(ReleaseAnswered, aRenewalThatMeetsItselfDoesNotHideTheRecordFromTheRelease) {
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
