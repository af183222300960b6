// How each Renew is answered, whatever becomes of the writes that carry its data and of the term.
#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

event::Renew renewal(std::uint64_t ticket, const std::string& data) { return {ticket, {}, data}; }
const WriteOutcome applied{Applied{FencingToken{1}}};
const WriteOutcome notAnswered{Unknown{transientError()}};

/// The last ticket of which Renewed or Recorded says that it is in the record.
std::uint64_t recordedBy(const LeaseActions& actions) {
  std::uint64_t ticket = 0;
  for (const LeaseAction& action : actions) {
    if (const auto* renewed = std::get_if<action::Renewed>(&action)) ticket = renewed->ticket;
    const auto* recorded = std::get_if<action::Recorded>(&action);
    if (recorded != nullptr && recorded->outcome == action::Recorded::Outcome::recorded) ticket = recorded->last;
  }
  return ticket;
}

TEST(LeaseMachineRecorded, anAcknowledgedRenewalAnswersTheTicketsThatItCarries) {
  MachineHarness m;
  m.becomeLeading();
  ASSERT_EQ(m.step(renewal(1, "a")), "renew");
  EXPECT_EQ(m.step(renewal(2, "b")), "");
  EXPECT_EQ(recordedBy(m.machine.step(m.now, event::WriteReply{m.attempt(), applied})), 1U) << "not the second one";
}

TEST(LeaseMachineRecorded, ofSeveralTheLastOneIsWritten) {
  MachineHarness m;
  m.becomeRenewing();
  m.step(renewal(1, "a"));
  m.step(renewal(2, "b"));
  ASSERT_EQ(m.answerWrite(applied), "publish(leads) renewed renew");
  EXPECT_EQ(m.write().record.data, "b");
  EXPECT_EQ(recordedBy(m.machine.step(m.now, event::WriteReply{m.attempt(), applied})), 2U);
}

TEST(LeaseMachineRecorded, whatIsRejectedIsSentAgain) {
  MachineHarness m;
  m.becomeLeading();
  m.step(renewal(1, "a"));
  EXPECT_EQ(m.answerWrite(Rejected{transientError()}), "inDoubt");
  ASSERT_EQ(m.toWakeup(), "renew");
  EXPECT_EQ(m.write().record.data, "a");
  EXPECT_EQ(m.answerWrite(applied), "publish(leads) renewed(afterDoubt)");
}

TEST(LeaseMachineRecorded, I8_AReadBackThatShowsTheWriteIsTheAnswer) {
  MachineHarness m;
  m.becomeLeading();
  m.step(renewal(1, "a"));
  const LeaseRecord landed = m.written(1);
  EXPECT_EQ(m.answerWrite(notAnswered), "inDoubt") << "neither yes nor no";
  ASSERT_EQ(m.toWakeup(), "renew");
  EXPECT_EQ(m.write().record.data, "a") << "it may not have arrived";
  EXPECT_EQ(recordedBy(m.machine.step(m.now, event::WriteReply{m.attempt(), Conflict{std::optional{landed}}})), 1U);
}

TEST(LeaseMachineRecorded, I8_AReadBackOfAnEarlierWriteDoesNotAnswerTheLaterOne) {
  MachineHarness m;
  m.becomeLeading();
  m.step(renewal(1, "a"));
  const LeaseRecord first = m.written(1);
  m.answerWrite(notAnswered);
  m.step(renewal(2, "b"));
  ASSERT_EQ(m.toWakeup(), "renew");
  EXPECT_EQ(m.write().record.data, "b");
  ASSERT_EQ(m.answerWrite(Conflict{}), "read");
  const LeaseActions actions = m.machine.step(m.now, event::ReadReply{m.attempt(), std::optional{first}});
  EXPECT_EQ(recordedBy(actions), 1U);
  const auto* again = std::get_if<action::SendWrite>(&actions.back());
  ASSERT_NE(again, nullptr) << "the later one is still to be written";
  EXPECT_EQ(again->request.record.data, "b");
}

TEST(LeaseMachineRecorded, I8_ALaterWriteThatIsAcknowledgedAnswersTheOneThatWasNot) {
  MachineHarness m;
  m.becomeLeading();
  m.step(renewal(1, "a"));
  m.answerWrite(notAnswered);
  m.step(renewal(2, "b"));
  ASSERT_EQ(m.toWakeup(), "renew");
  EXPECT_EQ(recordedBy(m.machine.step(m.now, event::WriteReply{m.attempt(), applied})), 2U);
}

TEST(LeaseMachineRecorded, dataAreWrittenWhileTheWorkEnds) {
  MachineHarness m;
  m.becomeDraining();
  EXPECT_EQ(m.step(renewal(1, "end")), "renew");
  EXPECT_EQ(m.write().record.data, "end");
  EXPECT_EQ(m.answerWrite(applied), "publish(ends) recorded(1)");
}

TEST(LeaseMachineRecorded, ADurationIsNotTakenWhileTheWorkEnds) {
  MachineHarness m;
  m.becomeDraining();
  event::Renew both = renewal(1, "end");
  LeaseOptions longer = tenSecondLease();
  longer.duration = 30s;
  both.timing = LeaseTiming::from(longer).value();
  EXPECT_EQ(m.step(both), "renew");
  EXPECT_EQ(m.write().record.leaseDuration, 10s);
}

TEST(LeaseMachineRecorded, theReleaseCarriesDataThatNoRenewalHasWrittenYet) {
  MachineHarness m;
  m.becomeDrainingWhileRenewing();
  EXPECT_EQ(m.step(renewal(1, "end")), "");
  EXPECT_EQ(m.step(event::WorkEnded{}), "publish(none)");
  ASSERT_EQ(m.answerWrite(applied), "release") << "that renewal was older";
  EXPECT_EQ(m.write().record.data, "end");
  EXPECT_EQ(m.write().dataRule, DataRule::replace);
  EXPECT_EQ(m.answerWrite(applied), "recorded(1) leader(none) read");
}

TEST(LeaseMachineRecorded, aRenewalUnderWayWhenTheWorkEndedAnswersToo) {
  MachineHarness m;
  m.becomeDraining();
  ASSERT_EQ(m.step(renewal(1, "end")), "renew");
  m.step(event::WorkEnded{});
  EXPECT_EQ(m.answerWrite(applied), "recorded(1) release");
  EXPECT_EQ(m.answerWrite(applied), "leader(none) read") << "once only";
}

TEST(LeaseMachineRecorded, I8_AReleaseThatWasNotAnsweredIsAnsweredByTheRecord) {
  for (const bool arrived : {true, false}) {
    MachineHarness m;
    m.becomeDrainingWhileRenewing();
    m.step(renewal(1, "end"));
    m.step(event::WorkEnded{});
    ASSERT_EQ(m.answerWrite(applied), "release");
    LeaseRecord left = m.written(1);
    if (!arrived) left.data = "as an operator left it";
    EXPECT_EQ(m.answerWrite(notAnswered), "");
    ASSERT_EQ(m.toWakeup(), "release");
    const std::string did = m.answerWrite(Conflict{std::optional{left}});
    EXPECT_EQ(did.substr(0, did.find(' ')), arrived ? "recorded(1)" : "unrecorded(1)");
  }
}

TEST(LeaseMachineRecorded, aReleaseThatRemovesTheRecordRecordsNothing) {
  MachineHarness m;
  m.becomeDrainingWhileRenewing();
  m.step(renewal(1, "end"));
  m.step(event::Release{{}, true});
  m.answerWrite(notAnswered);
  ASSERT_EQ(m.toWakeup(), "release");
  EXPECT_EQ(m.answerWrite(applied), "unrecorded(1) leader(none) unfollow stopped(released)");
}

TEST(LeaseMachineRecorded, I8_TheEndOfTheTermAnswersWhatIsNotKnown) {
  MachineHarness lost;
  lost.becomeLeading();
  lost.step(renewal(1, "a"));
  lost.step(renewal(2, "b"));
  EXPECT_EQ(lost.answerWrite(Conflict{std::optional{othersRecord()}}),
            "publish(lost) revoked(lost) publish(none) unrecorded(1-2) leader(b#2)");
  MachineHarness expired;
  expired.becomeLeading();
  expired.step(renewal(1, "a"));
  EXPECT_NE(expired.after(9s).find("unrecorded(1)"), std::string::npos);
  MachineHarness stuck;
  stuck.becomeDraining();
  stuck.step(renewal(1, "a"));
  for (int i = 0; i < 10; ++i) stuck.answerWrite(Rejected{transientError()}), stuck.after(900ms);
  EXPECT_NE(stuck.after(1s).find("unrecorded(1)"), std::string::npos) << "the work did not end in time";
}

TEST(LeaseMachineRecorded, whatIsForAnotherTermIsRefused) {
  MachineHarness m;
  m.becomeLeading(7);
  event::Renew old = renewal(1, "of the term before");
  old.term = FencingToken{6};
  EXPECT_EQ(m.step(old), "unrecorded(1)");
  event::Renew own = renewal(2, "of this term");
  own.term = FencingToken{7};
  EXPECT_EQ(m.step(own), "renew");
  EXPECT_EQ(m.write().record.data, "of this term");
}

TEST(LeaseMachineRecorded, laterTermsAnswerTheirOwnTickets) {
  MachineHarness m;
  m.becomeLeading();
  m.step(renewal(1, "a"));
  m.answerWrite(Conflict{std::optional{releasedRecord("gone-9", 9)}});
  m.step(event::WorkEnded{});
  for (int i = 0; m.state() != LeaseState::acquiring && i < 100; ++i) {
    if (m.toWakeup() == "read") m.answerRead(std::optional{releasedRecord("gone-9", 9)});
  }
  ASSERT_EQ(m.state(), LeaseState::acquiring);
  m.answerWrite(Applied{FencingToken{10}});
  ASSERT_EQ(m.toWakeup(), "renew");
  EXPECT_EQ(m.write().record.data, "") << "what the first term asked for is over";
  m.answerWrite(Applied{FencingToken{10}});
  m.step(renewal(2, "b"));
  EXPECT_EQ(recordedBy(m.machine.step(m.now, event::WriteReply{m.attempt(), Applied{FencingToken{10}}})), 2U);
}

}  // namespace
}  // namespace tenure::test
