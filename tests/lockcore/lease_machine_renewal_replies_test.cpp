// A holder's renewal and its read-back x each answer that a store can give, also while the work ends.
#include <string>
#include <vector>

#include "lockcore/lease_machine_replies.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

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

TEST(RenewAnswered, theEndNamesTheRejectionAndNotTheTimeOutAfterIt) {
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

}  // namespace
}  // namespace tenure::test
