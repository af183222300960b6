// Data that the store refuses for good: the lease is kept without them, and who asked is told.
#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

event::Renew renewWith(std::uint64_t ticket, const std::string& data) { return {ticket, {}, data}; }
const WriteOutcome acknowledged{Applied{FencingToken{1}}};
const WriteOutcome leftOpen{Unknown{transientError()}};
const WriteOutcome refusedForGood{Rejected{StoreError{ErrorClass::misconfigured, "the item is full"}}};

/// The Recorded among these actions; there must be one.
action::Recorded recordedIn(const LeaseActions& actions) {
  for (const LeaseAction& action : actions) {
    if (const auto* recorded = std::get_if<action::Recorded>(&action)) return *recorded;
  }
  ADD_FAILURE() << describe(actions);
  return {};
}

TEST(LeaseMachineRefusedData, theLeaseIsRenewedAtOnceWithoutThem) {
  MachineHarness m;
  m.becomeLeading();
  ASSERT_EQ(m.step(renewWith(1, "a")), "renew");
  ASSERT_EQ(m.answerWrite(refusedForGood), "log renew") << "and it is no doubt about the lease";
  EXPECT_EQ(m.write().dataRule, DataRule::replaceUnlessEmpty);
  EXPECT_EQ(m.write().record.data, "");
  EXPECT_EQ(m.answerWrite(acknowledged), "publish(leads) refused(1) renewed");
  ASSERT_EQ(m.toWakeup(), "renew");
  EXPECT_EQ(m.write().record.data, "");
}

TEST(LeaseMachineRefusedData, theAnswerHasTheStoresError) {
  MachineHarness m;
  m.becomeLeading();
  m.step(renewWith(1, "a"));
  m.answerWrite(refusedForGood);
  const action::Recorded told = recordedIn(m.machine.step(m.now, event::WriteReply{m.attempt(), acknowledged}));
  EXPECT_EQ(told.outcome, action::Recorded::Outcome::refused);
  ASSERT_TRUE(told.error);
  EXPECT_EQ(told.error->message, "the item is full");
}

TEST(LeaseMachineRefusedData, anErrorThatMayPassRejectsNothing) {
  for (const ErrorClass passing : {ErrorClass::transient, ErrorClass::throttled}) {
    MachineHarness m;
    m.becomeLeading();
    m.step(renewWith(1, "a"));
    EXPECT_EQ(m.answerWrite(Rejected{StoreError{passing, "busy"}}), "inDoubt");
    ASSERT_EQ(m.toWakeup(), "renew");
    EXPECT_EQ(m.write().record.data, "a");
  }
}

TEST(LeaseMachineRefusedData, aRejectionOfARenewalWithoutDataIsOne) {
  MachineHarness m;
  m.becomeRenewing();
  m.step(renewWith(1, "a"));
  EXPECT_EQ(m.answerWrite(refusedForGood), "inDoubt");
  ASSERT_EQ(m.toWakeup(), "renew");
  EXPECT_EQ(m.write().record.data, "a") << "those data were not tried yet";
}

TEST(LeaseMachineRefusedData, aStoreThatRefusesEverythingIsInDoubtAndNobodyIsAnswered) {
  MachineHarness m;
  m.becomeLeading();
  m.step(renewWith(1, "a"));
  m.answerWrite(refusedForGood);
  EXPECT_EQ(m.answerWrite(refusedForGood), "inDoubt");
  ASSERT_EQ(m.toWakeup(), "renew");
  EXPECT_EQ(m.answerWrite(acknowledged), "publish(leads) refused(1) renewed(afterDoubt)");
}

TEST(LeaseMachineRefusedData, newerDataAreTriedOnceTheLeaseIsRenewed) {
  MachineHarness m;
  m.becomeLeading();
  m.step(renewWith(1, "much too long"));
  m.step(renewWith(2, "short"));
  ASSERT_EQ(m.answerWrite(refusedForGood), "log renew");
  EXPECT_EQ(m.write().record.data, "") << "first the lease is renewed, whatever comes next";
  ASSERT_EQ(m.answerWrite(acknowledged), "publish(leads) refused(1) renewed renew");
  EXPECT_EQ(m.write().record.data, "short");
  EXPECT_EQ(m.answerWrite(acknowledged), "publish(leads) renewed");
  m.step(renewWith(3, "much too long"));
  m.answerWrite(refusedForGood);
  m.answerWrite(acknowledged);
  EXPECT_EQ(m.step(renewWith(4, "fits")), "renew");
  EXPECT_EQ(m.write().record.data, "fits");
}

TEST(LeaseMachineRefusedData, aLeaseThatWasAskedForWithThemCounts) {
  MachineHarness m;
  m.becomeLeading();
  event::Renew both = renewWith(1, "a");
  LeaseOptions longer = tenSecondLease();
  longer.duration = 30s;
  both.timing = LeaseTiming::from(longer).value();
  m.step(both);
  m.answerWrite(refusedForGood);
  EXPECT_EQ(m.write().record.leaseDuration, 30s);
}

/// An earlier write with the same data was not answered, so "refused" must be proved.
class RefusedAfterDoubt : public testing::Test {
 protected:
  void SetUp() override {
    m.becomeLeading();
    before = m.write().record.version.text();
    m.step(renewWith(1, "a"));
    first = m.written(1);
    m.answerWrite(leftOpen);
    ASSERT_EQ(m.toWakeup(), "renew");
    ASSERT_NE(m.expected().find(first.version.text()), std::string::npos);
    ASSERT_EQ(m.answerWrite(refusedForGood), "log renew");
  }

  MachineHarness m;
  std::string before;  ///< the version that the store acknowledged last
  LeaseRecord first;
};

TEST_F(RefusedAfterDoubt, I8_TheRenewalWithoutThemArrivesOnlyIfTheyHaveNot) {
  EXPECT_EQ(m.expected(), before);
  EXPECT_EQ(m.answerWrite(acknowledged), "publish(leads) refused(1) renewed(afterDoubt)");
}

TEST_F(RefusedAfterDoubt, I8_IfTheyHaveArrivedTheyAreRecorded) {
  ASSERT_EQ(m.answerWrite(Conflict{}), "read");
  const LeaseActions actions = m.machine.step(m.now, event::ReadReply{m.attempt(), std::optional{first}});
  EXPECT_EQ(describe(actions), "publish(leads) renewed(afterDoubt)");
}

TEST_F(RefusedAfterDoubt, I8_IfTheRenewalWithoutThemHasArrivedTheyHaveNot) {
  const LeaseRecord without = m.written(1);
  m.answerWrite(leftOpen);
  ASSERT_EQ(m.toWakeup(), "renew");
  EXPECT_EQ(m.expected(), before);
  EXPECT_EQ(m.answerWrite(Conflict{std::optional{without}}), "publish(leads) refused(1) renewed(afterDoubt)");
}

TEST_F(RefusedAfterDoubt, I8_IfTheTermEndsFirstNobodyKnows) {
  EXPECT_EQ(m.answerWrite(Conflict{std::optional{othersRecord()}}),
            "publish(lost) revoked(lost) publish(none) unrecorded(1) leader(b#2)");
}

TEST(LeaseMachineRefusedData, whileTheWorkEndsToo) {
  MachineHarness m;
  m.becomeDraining();
  m.step(renewWith(1, "end"));
  ASSERT_EQ(m.answerWrite(refusedForGood), "log renew");
  EXPECT_EQ(m.answerWrite(acknowledged), "publish(ends) refused(1)");
}

TEST(LeaseMachineRefusedData, theLeaseIsReleasedWithoutThem) {
  MachineHarness m;
  m.becomeDrainingWhileRenewing();
  m.step(renewWith(1, "end"));
  m.step(event::WorkEnded{});
  ASSERT_EQ(m.answerWrite(acknowledged), "release");
  EXPECT_EQ(m.write().record.data, "end");
  ASSERT_EQ(m.answerWrite(refusedForGood), "log release") << "at once";
  EXPECT_EQ(m.write().dataRule, DataRule::replaceUnlessEmpty);
  EXPECT_EQ(m.answerWrite(acknowledged), "refused(1) leader(none) read");
}

TEST(LeaseMachineRefusedData, aRenewalUnderWayWhenTheWorkEndedLeavesThemOutOfTheRelease) {
  MachineHarness m;
  m.becomeDraining();
  m.step(renewWith(1, "end"));
  m.step(event::WorkEnded{});
  ASSERT_EQ(m.answerWrite(refusedForGood), "log release");
  EXPECT_EQ(m.write().record.data, "");
  EXPECT_EQ(m.answerWrite(acknowledged), "refused(1) leader(none) read");
}

TEST(LeaseMachineRefusedData, dataOfTheReleaseItselfDoNotKeepTheLease) {
  MachineHarness m;
  m.becomeRenewing();
  m.step(event::Release{"left"});
  ASSERT_EQ(m.answerWrite(Rejected{StoreError{ErrorClass::misconfigured, "no"}}), "");
  ASSERT_EQ(m.toWakeup(), "release");
  EXPECT_EQ(m.write().record.data, "left") << "the renewal had none";
  ASSERT_EQ(m.answerWrite(refusedForGood), "log release");
  EXPECT_EQ(m.write().record.data, "");
  EXPECT_EQ(m.answerWrite(acknowledged), "leader(none) unfollow stopped(released)");
}

TEST(LeaseMachineRefusedData, theReleaseHoldsNothingBack) {
  for (const bool workEndsFirst : {true, false}) {
    MachineHarness m;
    m.becomeDraining();
    m.step(renewWith(1, "much too long"));
    m.step(renewWith(2, "end"));
    if (workEndsFirst) m.step(event::WorkEnded{});
    m.answerWrite(refusedForGood);
    if (!workEndsFirst) {
      EXPECT_EQ(m.write().record.data, "");
      m.step(event::WorkEnded{});
      ASSERT_EQ(m.answerWrite(acknowledged), "refused(1) release");
    }
    EXPECT_EQ(m.write().purpose, WriteRequest::Purpose::release);
    EXPECT_EQ(m.write().record.data, "end");
    EXPECT_EQ(m.answerWrite(acknowledged).substr(0, 8), "recorded");
  }
}

TEST(LeaseMachineRefusedData, I8_BesideAWriteThatMayHaveBroughtThemAReleaseIsNoProof) {
  MachineHarness m;
  m.becomeDraining();
  m.step(renewWith(1, "end"));
  const LeaseRecord first = m.written(1);
  m.answerWrite(leftOpen);
  m.step(event::WorkEnded{});
  ASSERT_EQ(m.write().record.data, "end");
  ASSERT_EQ(m.answerWrite(refusedForGood), "log release");
  EXPECT_NE(m.expected().find(first.version.text()), std::string::npos) << "it must succeed in both cases";
  EXPECT_EQ(m.answerWrite(acknowledged), "unrecorded(1) leader(none) read");
}

}  // namespace
}  // namespace tenure::test
