// What Renew and Release do to a holder, at each answer: another lease duration, data, a manual heartbeat.
#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

LeaseTiming timingOf(std::chrono::milliseconds duration) {
  LeaseOptions options = tenSecondLease();
  options.duration = duration;
  options.heartbeat.reset();
  return LeaseTiming::from(options).value();
}

TEST(LeaseMachineRenew, aLongerLeaseCountsOnceItIsAcknowledged) {
  MachineHarness m;
  m.becomeLeading();
  const auto before = m.published();
  EXPECT_EQ(m.step(event::Renew{1, timingOf(30s)}), "renew");
  EXPECT_EQ(m.write().record.leaseDuration, 30s);
  EXPECT_EQ(m.published().leadsFor, before.leadsFor) << "not before";
  m.now = m.now + 1s;
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{1}}), "publish(leads) renewed");
  EXPECT_EQ(m.published().validFor, timingOf(30s).validFor());
  EXPECT_EQ(m.published().leadsFor, timingOf(30s).leadsFor());
  EXPECT_EQ(m.published().remainingAt(m.now), timingOf(30s).leadsFor() - 1s) << "from before it was sent (I2)";
}

TEST(LeaseMachineRenew, aLongerLeaseThatIsNotAcknowledgedGivesNothing) {
  for (const WriteOutcome& outcome :
       {WriteOutcome{Unknown{transientError()}}, WriteOutcome{Rejected{transientError()}}}) {
    MachineHarness m;
    m.becomeLeading();
    const auto before = m.published();
    m.step(event::Renew{1, timingOf(30s)});
    m.answerWrite(outcome);
    EXPECT_EQ(m.published().leadsFor, before.leadsFor);
    EXPECT_EQ(m.published().validFor, before.validFor);
    m.now = m.now + before.leadsFor;
    EXPECT_FALSE(m.leads());
  }
}

TEST(LeaseMachineRenew, aShorterLeaseCountsFromWhenItIsSent) {
  MachineHarness m;
  m.becomeLeading();
  m.now = m.now + 1s;
  EXPECT_EQ(m.step(event::Renew{1, timingOf(4s)}), "publish(leads) renew");
  EXPECT_EQ(m.published().remainingAt(m.now), timingOf(4s).leadsFor());
  m.answerWrite(Unknown{transientError()});
  EXPECT_EQ(m.published().remainingAt(m.now), timingOf(4s).leadsFor()) << "the record may have it";
  m.now = m.now + timingOf(4s).leadsFor();
  EXPECT_FALSE(m.leads());
}

TEST(LeaseMachineRenew, aReadBackGivesTheRightOfTheWriteThatItShows) {
  MachineHarness m;
  m.becomeLeading();
  const LeaseRecord old = m.written(1);
  m.step(event::Renew{1, timingOf(30s)});
  LeaseRecord landed = m.written(1);
  m.answerWrite(Conflict{std::optional{old}});
  m.toWakeup();
  m.answerWrite(Conflict{std::optional{landed}});
  EXPECT_EQ(m.published().validFor, timingOf(30s).validFor());
  EXPECT_TRUE(m.leads());
}

/// The shorter lease arrives after the read of the record and before its answer. From then on a challenger counts it.
TEST(LeaseMachineRenew, aShorterLeaseThatMayStillArriveLimitsWhatAReadBackProves) {
  MachineHarness m;
  m.becomeLeading();
  ASSERT_EQ(m.toWakeup(), "renew");
  const LeaseRecord landed = m.written(1);
  m.answerWrite(Unknown{transientError()});
  m.step(event::Renew{1, timingOf(4s)});
  ASSERT_EQ(m.toWakeup(), "publish(leads) renew");
  EXPECT_EQ(m.write().record.leaseDuration, 4s);
  ASSERT_EQ(m.answerWrite(Conflict{}), "read");
  m.now = m.now + 500ms;
  EXPECT_EQ(m.answerRead(landed), "publish(leads) renewed(afterDoubt) renew");
  EXPECT_EQ(m.published().remainingAt(m.now), timingOf(4s).leadsFor() - 500ms);
  EXPECT_LE(m.published().validFor - elapsedForHolder(m.published().anchor, m.now), timingOf(4s).validFor() - 500ms);
}

/// The shorter one did arrive, after a read that did not show it: the right that the read proves lasts longer than its
/// own.
TEST(LeaseMachineRenew, aReadBackOfAShorterLeaseLeavesTheRightThatReachesFurther) {
  MachineHarness m;
  m.becomeLeading();
  ASSERT_EQ(m.toWakeup(), "renew");
  const LeaseRecord first = m.written(1);
  m.answerWrite(Unknown{transientError()});
  m.step(event::Renew{1, timingOf(4s)});
  ASSERT_EQ(m.toWakeup(), "publish(leads) renew");
  const LeaseRecord shorter = m.written(1);
  const Instant shorterSentAt = m.now;
  m.now = m.now + 900ms;
  ASSERT_EQ(m.answerWrite(Conflict{}), "read");
  const Instant lookedAt = m.now;
  m.now = m.now + 10ms;
  ASSERT_EQ(m.answerRead(first), "publish(leads) renewed(afterDoubt) renew");
  m.now = m.now + 1200ms;
  ASSERT_EQ(m.answerWrite(Conflict{}), "read");
  m.now = lookedAt + 2110ms;
  ASSERT_GT(elapsedForHolder(shorterSentAt, m.now), timingOf(4s).leadsFor()) << "its own right is over";
  EXPECT_EQ(m.answerRead(shorter).substr(0, 22), "publish(leads) renewed");
  EXPECT_EQ(m.published().remainingAt(m.now), timingOf(4s).leadsFor() - 2110ms);
}

TEST(LeaseMachineRenew, aShorterLeaseEndsOnTimeWhicheverClockGoesAheadAfterwards) {
  MachineHarness m;
  m.becomeLeading();
  m.now.raw += 2500ms;
  m.now.monotonic += 2700ms;
  m.now.boottime += 2700ms;
  EXPECT_EQ(m.step(event::Renew{1, timingOf(4s)}), "publish(leads) renew");
  const auto whole = std::chrono::nanoseconds{timingOf(4s).leadsFor()};
  m.now.raw += whole;
  m.now.monotonic += whole * 92 / 100;
  m.now.boottime += whole * 92 / 100;
  EXPECT_FALSE(m.leads());
}

/// As above, where the result of a read limits the right.
TEST(LeaseMachineRenew, aReadBackBeforeAShorterLeaseEndsOnTimeByEitherClock) {
  MachineHarness m;
  m.becomeLeading();
  ASSERT_EQ(m.toWakeup(), "renew");
  const LeaseRecord landed = m.written(1);
  m.answerWrite(Unknown{transientError()});
  m.step(event::Renew{1, timingOf(4s)});
  ASSERT_EQ(m.toWakeup(), "publish(leads) renew");
  m.now.raw += 800ms;
  m.now.monotonic += 1000ms;
  m.now.boottime += 1000ms;
  ASSERT_EQ(m.answerWrite(Conflict{}), "read");
  const Instant asked = m.now;
  m.now = m.now + 500ms;  // otherwise the next renewal would limit the right as much
  EXPECT_EQ(m.answerRead(landed).substr(0, 22), "publish(leads) renewed");
  const auto passes = [&](std::chrono::nanoseconds whole) {
    return Instant{asked.raw + whole, asked.monotonic + whole * 92 / 100, asked.boottime + whole * 92 / 100};
  };
  EXPECT_FALSE(m.published().leadsAt(passes(timingOf(4s).leadsFor())));
  EXPECT_FALSE(m.published().validAt(passes(timingOf(4s).validFor())));
}

TEST(LeaseMachineRenew, aShorterLeaseOfWhichNothingIsLeftEndsTheTermAtOnce) {
  MachineHarness m{[] {
    LeaseOptions options = tenSecondLease();
    options.duration = 100s;
    return options;
  }()};
  m.becomeLeading();
  m.now.raw += 80s;
  m.now.monotonic += 86s;
  m.now.boottime += 86s;
  EXPECT_EQ(m.step(event::Renew{1, timingOf(4s)}), "publish(leads) publish(ends) revoked(expired) unrecorded(1)");
  EXPECT_FALSE(m.leads());
}

TEST(LeaseMachineRenew, laterHeartbeatsKeepTheChangedLease) {
  MachineHarness m;
  m.becomeLeading();
  m.step(event::Renew{1, timingOf(30s)});
  m.answerWrite(Applied{FencingToken{1}});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(m.toWakeup(), "renew");
    EXPECT_EQ(m.write().record.leaseDuration, 30s) << i;
    EXPECT_EQ(m.write().dataRule, DataRule::replaceUnlessEmpty);
    m.answerWrite(Applied{FencingToken{1}});
  }
}

TEST(LeaseMachineRenew, dataIsCarriedUntilAWriteWithItIsAcknowledged) {
  MachineHarness m;
  m.becomeLeading();
  EXPECT_EQ(m.step(event::Renew{1, {}, "new"}), "renew");
  EXPECT_EQ(m.write().record.data, "new");
  m.answerWrite(Unknown{transientError()});
  EXPECT_EQ(m.toWakeup(), "renew");
  EXPECT_EQ(m.write().record.data, "new");
  EXPECT_EQ(m.write().dataRule, DataRule::replace);
  m.answerWrite(Applied{FencingToken{1}});
  m.toWakeup();
  EXPECT_EQ(m.write().record.data, "");
  EXPECT_EQ(m.write().dataRule, DataRule::replaceUnlessEmpty);
}

TEST(LeaseMachineRenew, oneBehindARenewalUnderWayIsSentAfterIt) {
  MachineHarness m;
  m.becomeRenewing();
  EXPECT_EQ(m.step(event::Renew{1, {}, "new"}), "");
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{1}}), "publish(leads) renewed renew");
  EXPECT_EQ(m.write().record.data, "new");
}

TEST(LeaseMachineRenew, clearingIsTheEmptyTextByTheRuleThatReplaces) {
  MachineHarness m;
  m.becomeLeading();
  m.step(event::Renew{1, {}, ""});
  EXPECT_EQ(m.write().record.data, "");
  EXPECT_EQ(m.write().dataRule, DataRule::replace);
}

TEST(LeaseMachineRelease, itCarriesDataAndSaysHow) {
  MachineHarness m;
  m.becomeLeading();
  EXPECT_EQ(m.step(event::Release{"left", true}), "publish(ends) revoked(stopped) publish(none) release");
  EXPECT_EQ(m.write().record.data, "left");
  EXPECT_TRUE(m.write().removes);
}

TEST(LeaseMachineRelease, aRemovedRecordProvesThatAnUnansweredRemovalArrived) {
  MachineHarness m;
  m.becomeLeading();
  m.step(event::Release{{}, true});
  m.answerWrite(Unknown{transientError()});
  EXPECT_EQ(m.toWakeup(), "release");
  EXPECT_EQ(m.answerWrite(Conflict{absent}), "leader(none) unfollow stopped(released)");
}

TEST(LeaseMachineManual, withoutRenewItIsSilentAndEndsOnTime) {
  MachineHarness m{tenSecondLease(), OneTerm{}, true};
  m.becomeLeading();
  EXPECT_EQ(m.machine.untilWakeup(m.now), std::optional{std::chrono::nanoseconds{8989ms}});
  EXPECT_EQ(m.after(8988ms), "");
  EXPECT_EQ(m.after(1ms).substr(0, 30), "publish(ends) revoked(expired)");
  EXPECT_EQ(m.revocations().back().detail, "no renewal was requested in time, and the heartbeat is manual");
}

TEST(LeaseMachineManual, aRenewalThatFailsIsRetriedUntilItIsAcknowledged) {
  MachineHarness m{tenSecondLease(), OneTerm{}, true};
  m.becomeLeading();
  EXPECT_EQ(m.step(event::Renew{1}), "renew");
  EXPECT_EQ(m.answerWrite(Rejected{transientError()}), "inDoubt");
  EXPECT_EQ(m.toWakeup(), "renew");
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{1}}), "publish(leads) renewed(afterDoubt)");
  EXPECT_EQ(m.after(8s), "");
}

}  // namespace
}  // namespace tenure::test
