// The tokens that a resource reports: anybody who may write to the resource can invent a report.
#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

FencingToken above(std::uint64_t known, std::uint64_t more = 0) { return FencingToken{known + maxReportedStep + more}; }

TEST(I7ReportedTokens, aMadeUpTokenNeitherEndsATermNorLiftsTheFloor) {
  for (const FencingToken madeUp : {above(3, 1), maxFencingToken, maxFencingToken.next(), FencingToken{~0ULL}}) {
    MachineHarness m;
    m.becomeLeading(3);
    EXPECT_EQ(m.step(event::TokenSeen{madeUp}), "log");
    EXPECT_TRUE(m.leads());
    m.step(event::StepDown{"a test"});
    m.step(event::WorkEnded{});
    m.answerWrite(Applied{FencingToken{3}});
    while (m.state() != LeaseState::acquiring) {
      if (m.toWakeup() == "read") m.answerRead(std::optional{releasedRecord("v2", 3)});
    }
    EXPECT_EQ(m.write().tokenFloor, FencingToken{3});
  }
}

TEST(I7ReportedTokens, aRefusedReportIsNamedOnce) {
  MachineHarness m;
  m.becomeLeading(3);
  EXPECT_EQ(m.step(event::TokenSeen{above(3, 7)}), "log");
  const std::string line = m.logLines.back();
  EXPECT_NE(line.find(toString(above(3, 7))), std::string::npos) << line;
  EXPECT_NE(line.find("of lease lease"), std::string::npos) << line;
  EXPECT_NE(line.find("shown is 3"), std::string::npos) << line;
  EXPECT_NE(line.find("tenure fence recover"), std::string::npos) << line;
  EXPECT_EQ(m.step(event::TokenSeen{above(3, 7)}), "") << "each write is refused with it";
}

TEST(I7ReportedTokens, aReportWithinTheStepIsBelieved) {
  MachineHarness m;
  m.becomeLeading(3);
  EXPECT_EQ(m.step(event::TokenSeen{above(3)}), "publish(lost) revoked(lost) publish(none) read");
  m.step(event::WorkEnded{});
  m.answerRead(std::optional{releasedRecord("v2", 3)});
  if (m.state() == LeaseState::candidate) m.toWakeup();
  EXPECT_EQ(m.write().tokenFloor, above(3));
}

TEST(I7ReportedTokens, aStoppedMachineSaysNothingOfThem) {
  MachineHarness m;
  m.becomeStopped();
  EXPECT_EQ(m.step(event::TokenSeen{above(5, 1)}), "");
}

/// Reports alone cannot raise the limit: the step counts from what the store showed.
TEST(I7ReportedTokens, oneReportIsNoGroundForAHigherOne) {
  MachineHarness m;
  m.becomeCandidate();  // beside a term with the token 5
  EXPECT_EQ(m.step(event::TokenSeen{above(5)}), "");
  EXPECT_EQ(m.step(event::TokenSeen{above(5, 1)}), "log");
  EXPECT_EQ(m.step(event::TokenSeen{above(5, maxReportedStep)}), "log");
  EXPECT_EQ(readUntilElse(m, othersRecord()), "acquire");
  EXPECT_EQ(m.write().tokenFloor, above(5));
}

TEST(I7ReportedTokens, whatAProcessRemembersOfReportsIsNoGroundEither) {
  const OneTerm forEver;
  MachineHarness first{tenSecondLease(), forEver};
  first.becomeLeading(3);
  first.step(event::TokenSeen{above(3)});
  ASSERT_EQ(first.state(), LeaseState::stopped);
  OneTerm next = forEver;
  next.memory = first.memory();
  MachineHarness second{tenSecondLease(), next};
  second.step(event::Start{});
  EXPECT_EQ(second.step(event::TokenSeen{above(3, 1)}), "log");
  second.answerRead(std::optional{releasedRecord("v2", 3)});
  if (second.state() == LeaseState::candidate) second.toWakeup();
  EXPECT_EQ(second.write().tokenFloor, above(3));
}

/// The acquisition was not answered, and by the time that a read shows it, a resource has reported its very token:
/// somebody else has written by it.
TEST(I7ReportedTokens, anAcquisitionThatIsReadBackWithAReportedTokenIsNoTerm) {
  MachineHarness m;
  m.becomeAcquiring();
  const LeaseRecord mine = m.written(7);
  EXPECT_EQ(m.answerWrite(Unknown{transientError()}), "read");
  m.step(event::TokenSeen{FencingToken{7}});
  EXPECT_EQ(m.answerRead(std::optional{mine}), "log");
  EXPECT_NE(m.logLines.back().find("the fencing token 7"), std::string::npos) << m.logLines.back();
  EXPECT_EQ(m.step(event::StoreHint{}), "read");
  EXPECT_EQ(m.answerRead(std::optional{mine}), "") << "now the store has shown this token itself";
  EXPECT_EQ(readUntilElse(m, mine), "acquire");
  EXPECT_EQ(m.expected(), mine.version.text());
  EXPECT_GE(m.write().tokenFloor, FencingToken{7});
  EXPECT_EQ(m.elections(), 0U);
  m.answerWrite(Applied{FencingToken{8}});
  EXPECT_TRUE(m.leads());
}

TEST(I7ReportedTokens, anAcquisitionThatIsReadBackWithAHigherTokenIsATerm) {
  MachineHarness m;
  m.becomeAcquiring();
  const LeaseRecord mine = m.written(8);
  m.answerWrite(Unknown{transientError()});
  m.step(event::TokenSeen{FencingToken{7}});
  m.answerRead(std::optional{mine});
  EXPECT_TRUE(m.leads());
}

/// What nobody leads by is not left to its lease.
TEST(I7ReportedTokens, anAcquisitionWithAReportedTokenIsReleasedAtTheEnd) {
  MachineHarness m;
  m.becomeAcquiring();
  const LeaseRecord mine = m.written(7);
  m.answerWrite(Unknown{transientError()});
  m.step(event::TokenSeen{FencingToken{7}});
  m.answerRead(std::optional{mine});
  EXPECT_EQ(m.step(event::Stop{}), "publish(none) release");
  EXPECT_EQ(m.expected(), mine.version.text());
}

/// Each is within the allowed step, but term by term they would bring the counter to its end in minutes.
TEST(I7ReportedTokens, termAfterTermThatAReportEndsLeavesTheLeaseAloneForALease) {
  MachineHarness m;
  m.becomeLeading(3);
  m.step(event::TokenSeen{FencingToken{4}});
  m.step(event::WorkEnded{});
  m.answerRead(std::optional{releasedRecord("v2", 3)});
  if (m.state() == LeaseState::candidate) m.toWakeup();
  ASSERT_EQ(m.state(), LeaseState::acquiring) << "one report is mended at once";
  m.answerWrite(Applied{FencingToken{5}});
  ASSERT_TRUE(m.leads());
  m.step(event::TokenSeen{FencingToken{6}});
  EXPECT_NE(m.logLines.back().find("find out what writes tokens there"), std::string::npos) << m.logLines.back();
  m.step(event::WorkEnded{});
  const Instant ended = m.now;
  while (m.state() != LeaseState::acquiring) {
    if (m.toWakeup() == "read") m.answerRead(std::optional{releasedRecord("v3", 5)});
  }
  EXPECT_GE(elapsedForChallenger(ended, m.now), 10s);
}

TEST(I7ReportedTokens, whatTheStoreShowsIsBelievedWithoutABound) {
  MachineHarness m;
  m.becomeReading();
  m.answerRead(std::optional{releasedRecord("v1", maxFencingToken.value() - 1)});
  m.toWakeup();
  EXPECT_EQ(m.write().tokenFloor, FencingToken{maxFencingToken.value() - 1});
}

}  // namespace
}  // namespace tenure::test
