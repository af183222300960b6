// A lease that its leader releases for one candidate: the others leave it alone for one heartbeat, and no longer.
#include <gtest/gtest.h>

#include "lockcore/one_term.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// Released for this candidate (`a`) or another, for two seconds.
LeaseRecord leftTo(const std::string& name, std::chrono::milliseconds heartbeat = 2s) {
  LeaseRecord record = releasedRecord();
  record.successor = {name, heartbeat};
  return record;
}

/// The machine sees the term held, and then a read is under way.
void seeItHeld(MachineHarness& m) {
  m.step(event::Start{});
  m.answerRead(std::optional{othersRecord()});
  EXPECT_EQ(m.step(event::StoreHint{}), "read");
}

/// How long after the first look at `record` the machine sends its acquisition.
std::chrono::nanoseconds waitFor(MachineHarness& m, const LeaseRecord& record, bool sawItHeld = true) {
  sawItHeld ? seeItHeld(m) : static_cast<void>(m.step(event::Start{}));
  const Instant seen = m.now;
  std::string did = m.answerRead(std::optional{record});
  for (int i = 0; i < 50 && did.find("acquire") == std::string::npos; ++i) {
    did = did.find("read") != std::string::npos ? m.answerRead(std::optional{record}) : m.toWakeup();
  }
  return elapsedForChallenger(seen, m.now);
}

TEST(Successor, theNamedCandidateTakesTheLeaseAtOnceWhateverItsPriority) {
  MachineHarness m{tenSecondLease(), maxPriority};
  EXPECT_LT(waitFor(m, leftTo("a")), 600ms);
  MachineHarness other{tenSecondLease(), maxPriority};
  EXPECT_GT(waitFor(other, releasedRecord()), 9s) << "this is what it would wait otherwise";
}

TEST(Successor, othersWaitForTheHeartbeatOfTheRecordAndNoLonger) {
  MachineHarness m;
  const auto waited = waitFor(m, leftTo("b"));
  EXPECT_GE(waited, 2s);
  EXPECT_LT(waited, 2600ms);
  EXPECT_EQ(m.write().expected, std::vector{releasedRecord().version});
}

/// It does not know how long ago that was, and so short-lived processes get past a name that nobody has (R17).
TEST(Successor, whoDidNotSeeTheTermHeldWaitsForNobody) {
  MachineHarness m;
  EXPECT_LT(waitFor(m, leftTo("b"), false), 600ms);
}

TEST(Successor, theTimeInTheRecordIsNeverLongerThanItsLease) {
  MachineHarness m;
  const auto waited = waitFor(m, leftTo("b", 24h));
  EXPECT_GE(waited, 10s);
  EXPECT_LT(waited, 11s);
}

TEST(Successor, anyChangeOfTheRecordEndsIt) {
  MachineHarness m;
  seeItHeld(m);
  EXPECT_EQ(m.answerRead(std::optional{leftTo("b")}).find("acquire"), std::string::npos);
  m.after(500ms);
  const std::string did = readUntilElse(m, std::optional{releasedRecord("gone-2", 6)});
  EXPECT_NE(did.find("acquire"), std::string::npos) << did;
}

TEST(Successor, aVacancyIsExpectedWhenTheCandidateMayTakeIt) {
  MachineHarness m;
  m.becomeCandidate();
  m.toWakeup();
  m.answerRead(std::optional{leftTo("b")});
  ASSERT_EQ(m.vacancies.size(), 1U);
  EXPECT_GE(m.vacancies[0], 2s);
}

// ---- what the leader writes ----

TEST(Successor, theReleaseAfterTheDrainNamesTheSuccessor) {
  MachineHarness m;
  m.becomeLeading();
  m.step(event::StepDown{"for a test", "b"});
  ASSERT_EQ(m.after(3s), "renew");
  EXPECT_EQ(m.write().record.successor, Successor{}) << "not before the work has ended";
  m.answerWrite(Applied{FencingToken{1}});
  EXPECT_EQ(m.step(event::WorkEnded{}), "publish(none) release");
  EXPECT_EQ(m.write().record.successor, (Successor{"b", 3s}));
  m.answerWrite(Rejected{transientError()});
  while (m.toWakeup() != "release") {
  }
  EXPECT_EQ(m.write().record.successor, (Successor{"b", 3s})) << "and each attempt";
}

TEST(Successor, theFirstStepDownDecidesAndAStopKeepsTheName) {
  MachineHarness m;
  m.becomeLeading();
  m.step(event::StepDown{"for a test", "b"});
  m.step(event::StepDown{"again", "c"});
  m.step(event::Stop{});
  m.step(event::WorkEnded{});
  EXPECT_EQ(m.write().record.successor.name, "b");
}

TEST(Successor, theNextTermNamesNobody) {
  MachineHarness m;
  m.becomeLeading();
  m.step(event::StepDown{"for a test", "b"});
  m.step(event::WorkEnded{});
  LeaseRecord left = m.written();
  std::string did = m.answerWrite(Applied{FencingToken{1}});
  for (int i = 0; i < 50 && did.find("acquire") == std::string::npos; ++i) {
    did = did.find("read") != std::string::npos ? m.answerRead(std::optional{left}) : m.toWakeup();
  }
  EXPECT_EQ(m.write().record.successor, Successor{});
  m.answerWrite(Applied{FencingToken{2}});
  m.step(event::Stop{});
  m.step(event::WorkEnded{});
  EXPECT_EQ(m.write().record.successor, Successor{});
}

// ---- candidacies of one term ----

TEST(Successor, aLockWaitsForAsLongAsItHasAndThenTakesIt) {
  MachineHarness one{tenSecondLease(), patient(0ns)};
  EXPECT_LT(waitFor(one, leftTo("b"), false), 100ms);
  MachineHarness some{tenSecondLease(), patient(1s)};
  const auto waited = waitFor(some, leftTo("b"));
  EXPECT_GE(waited, 900ms);
  EXPECT_LT(waited, 1100ms);
  MachineHarness patientOne{tenSecondLease(), patient(std::nullopt)};
  EXPECT_GE(waitFor(patientOne, leftTo("b")), 2s);
}

/// What one candidacy has waited, the next one of its client need not wait again.
TEST(Successor, theWaitIsRememberedOverCandidaciesOfOneTerm) {
  MachineHarness first{tenSecondLease(), patient(std::nullopt)};
  seeItHeld(first);
  first.answerRead(std::optional{leftTo("b")});
  first.after(1500ms);
  first.step(event::Stop{});
  ASSERT_TRUE(first.memory());
  OneTerm next = patient(std::nullopt);
  next.memory = first.memory();
  MachineHarness second{tenSecondLease(), next};
  second.now = first.now;
  const auto waited = waitFor(second, leftTo("b"), false);
  EXPECT_GE(waited, 400ms);
  EXPECT_LT(waited, 1100ms);
}

/// A lock that was asked to step down may have been asked for somebody: its process looks before it takes it again.
TEST(Successor, whatItsOwnReleaseLeftIsReadAfterARequest) {
  for (const bool asked : {false, true}) {
    MachineHarness m{tenSecondLease(), patient(std::nullopt)};
    m.becomeLeading();
    m.step(event::Release{});
    m.answerWrite(Applied{FencingToken{1}, asked});
    OneTerm next = patient(std::nullopt);
    next.memory = m.memory();
    MachineHarness again{tenSecondLease(), next};
    again.now = m.now;
    EXPECT_EQ(again.step(event::Start{}), asked ? "read" : "acquire");
  }
}

}  // namespace
}  // namespace tenure::test
