// What LeaseMachine promises, I5 to I8: terms alternate, renew, rise, and survive lost replies.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

// ---- I5: Elected and Revoked alternate ----

/// A candidate that never led is never revoked.
TEST(I5Alternation, noRevokedWithoutElected) {
  for (const auto enter :
       {&MachineHarness::becomeCandidate, &MachineHarness::becomeReading, &MachineHarness::becomeAcquiring}) {
    MachineHarness m;
    (m.*enter)();
    m.step(event::StepDown{});
    m.step(event::WorkFailed{"x"});
    m.step(event::TokenSeen{FencingToken{99}});
    m.step(event::Stop{});
    m.after(100s);
    EXPECT_TRUE(m.revocations().empty());
  }
}

/// Each term is a new one, with a new token and its own callback.
TEST(I5Alternation, hundredTermsOfOneMachine) {
  MachineHarness m;
  m.becomeLeading();
  for (std::uint64_t term = 1; term <= 100; ++term) {
    ASSERT_EQ(m.elections(), term);
    ASSERT_EQ(m.revocations().size(), term - 1);
    const LeaseRecord own = m.written(term);
    m.now = m.now + 20s;
    m.wake();
    ASSERT_EQ(m.revocations().size(), term);
    ASSERT_EQ(m.revocations().back().token, FencingToken{term});
    m.step(event::WorkEnded{});
    std::string did = m.answerRead(std::optional{own});
    if (did.find("acquire") == std::string::npos) did = readUntilElse(m, own);
    m.answerWrite(Applied{FencingToken{term + 1}});
    ASSERT_TRUE(m.leads());
  }
  EXPECT_EQ(m.machine.terms(), 101U);
}

TEST(I5Alternation, aPoliteEndThatTurnsIntoALossIsOneRevocation) {
  MachineHarness m;
  m.becomeDraining();
  m.after(100s);
  m.step(event::TokenSeen{FencingToken{99}});
  m.step(event::Stop{});
  m.after(100s);
  EXPECT_EQ(m.revocations().size(), 1U);
}

// ---- I6 (the machine's part): the work's state never delays renewal ----

TEST(I6CallbacksNeverDelayRenewal, workThatNeverReportsIsRenewedAllTheSame) {
  MachineHarness m;
  m.becomeLeading();
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(m.toWakeup(), "renew");
    ASSERT_EQ(m.answerWrite(Applied{FencingToken{1}}), "publish(leads) renewed");
  }
}

/// The optional watchdog for the work: without progress there is no renewal.
TEST(I6CallbacksNeverDelayRenewal, workThatMustReportProgressAndDoesNotLosesTheLease) {
  LeaseOptions options = tenSecondLease();
  options.progressTimeout = 4s;
  MachineHarness m{options};
  m.becomeLeading();
  ASSERT_EQ(m.toWakeup(), "renew");
  m.answerWrite(Applied{FencingToken{1}});
  m.step(event::WorkProgressed{});
  ASSERT_EQ(m.toWakeup(), "renew");
  m.answerWrite(Applied{FencingToken{1}});
  EXPECT_EQ(m.after(3s), "inDoubt");
  EXPECT_EQ(m.machine.lastError()->message,
            "the work has reported no progress for 4000 ms, so the lease is not renewed");
  m.step(event::WorkProgressed{});
  EXPECT_EQ(m.toWakeup(), "renew") << "it lives after all";
  m.answerWrite(Applied{FencingToken{1}});
  while (m.state() == LeaseState::leading) {
    const std::string did = m.toWakeup();
    if (did == "renew") m.answerWrite(Applied{FencingToken{1}});
  }
  EXPECT_EQ(m.revocations().back().reason, RevokeReason::expired);
  EXPECT_EQ(m.revocations().back().detail,
            "the work has reported no progress for 4000 ms, so the lease is not renewed");
}

/// Its own record would be free for it at once.
TEST(I6CallbacksNeverDelayRenewal, workThatShowsNoProgressLetsOthersComeFirst) {
  LeaseOptions options = tenSecondLease();
  options.progressTimeout = 4s;
  MachineHarness m{options};
  m.becomeLeading();
  while (m.state() == LeaseState::leading) {
    if (m.toWakeup() == "renew") m.answerWrite(Applied{FencingToken{1}});
  }
  const Instant ended = m.now;
  EXPECT_EQ(m.machine.cooldown(m.now), 10s) << "a lease, in which another one can lead";
  m.step(event::WorkEnded{});
  std::string did;
  while (did != "acquire") {
    did = m.toWakeup();
    if (did == "read") m.answerRead(std::optional{m.write().record});
  }
  EXPECT_GE(elapsedForHolder(ended, m.now), 10s) << "and then it tries again (I10)";
}

/// A probe that takes a second shows that the work was alive a second ago, and no report takes back a later one.
TEST(I6CallbacksNeverDelayRenewal, progressCountsFromTheBeginningOfTheProbeThatShowedIt) {
  LeaseOptions options = tenSecondLease();
  options.progressTimeout = 4s;
  MachineHarness m{options};
  m.becomeLeading();
  ASSERT_EQ(m.toWakeup(), "renew");  // 3 s after the election
  m.answerWrite(Applied{FencingToken{1}});
  m.step(event::WorkProgressed{1001ms});
  m.step(event::WorkProgressed{2s});
  EXPECT_EQ(m.after(3s), "inDoubt") << "4001 ms after the probe began";
  m.step(event::WorkProgressed{1s});
  m.step(event::WorkProgressed{100s});
  EXPECT_EQ(m.toWakeup(), "renew");
}

// ---- I7: the token rises ----

TEST(I7TokenRises, whateverWasSeenIsTheFloorOfTheNextAcquisition) {
  MachineHarness m;
  m.becomeReading();
  m.answerRead(std::optional{othersRecord("v1", 41)});
  m.step(event::TokenSeen{FencingToken{57}});  // a resource reported it
  m.step(event::StoreHint{});
  m.answerRead(std::optional{releasedRecord("v2", 12)});  // the counter was reset
  readUntilElse(m, releasedRecord("v2", 12));             // the term with token 41 may still run, and is waited out
  EXPECT_EQ(m.write().tokenFloor, FencingToken{57});
  EXPECT_TRUE(m.write().record.token.isNone()) << "the store gives it";
  m.answerWrite(Applied{FencingToken{58}});
  m.after(3s);
  EXPECT_EQ(m.write().record.token, FencingToken{58});
}

TEST(I7TokenRises, aTermWithATokenThatDoesNotRiseIsNotLed) {
  for (const std::uint64_t token : {std::uint64_t{0}, std::uint64_t{4}, std::uint64_t{5}}) {
    MachineHarness m;
    m.becomeReading();
    m.answerRead(std::optional{releasedRecord("v1", 5)});
    m.toWakeup();
    const LeaseRecord own = m.written(token);
    EXPECT_EQ(m.answerWrite(Applied{FencingToken{token}}), "log read");
    EXPECT_FALSE(m.leads());
    EXPECT_NE(m.machine.lastError()->message.find("but 5 was seen before"), std::string::npos);
    EXPECT_EQ(m.answerRead(std::optional{own}), "");
    const Instant from = m.now;
    EXPECT_EQ(readUntilElse(m, own), "acquire");
    EXPECT_GE(elapsedForHolder(from, m.now), 375ms) << "a store that is broken for good is not asked without a pause";
    EXPECT_EQ(m.answerWrite(Applied{FencingToken{6}}), "publish(leads) leader(self) elected(6)");
  }
}

TEST(I7TokenRises, aHigherTokenSeenDuringTheAcquisitionMeansAnotherOne) {
  MachineHarness m;
  m.becomeAcquiring();
  m.step(event::TokenSeen{FencingToken{9}});
  EXPECT_EQ(m.answerWrite(Applied{FencingToken{1}}), "log read");
  const LeaseRecord own = m.written(1);
  m.answerRead(std::optional{own});
  EXPECT_EQ(readUntilElse(m, own), "acquire");
  EXPECT_EQ(m.write().tokenFloor, FencingToken{9});

  MachineHarness lost;  // the same with a lost reply
  lost.becomeAcquiring();
  const LeaseRecord mine = lost.written(1);
  lost.step(event::TokenSeen{FencingToken{9}});
  EXPECT_EQ(lost.answerWrite(Unknown{transientError()}), "read");
  EXPECT_EQ(lost.answerRead(std::optional{mine}), "log");
  EXPECT_EQ(lost.elections(), 0U);
}

TEST(I7TokenRises, aResourceThatSawAHigherTokenEndsTheTerm) {
  MachineHarness m;
  m.becomeLeading(3);
  EXPECT_EQ(m.step(event::TokenSeen{FencingToken{2}}), "");
  EXPECT_EQ(m.step(event::TokenSeen{FencingToken{3}}), "");
  EXPECT_EQ(m.step(event::TokenSeen{FencingToken{4}}), "publish(lost) revoked(lost) publish(none) read");
  EXPECT_EQ(m.revocations().back().detail, "a resource has seen the token 4, higher than this term's 3");
}

// ---- I8: a write whose reply was lost is unknown ----

/// Fault T6: Lost replies alone never cost the term.
TEST(I8LostReplies, twoOfThreeRenewalsWithoutAReplyCostNothing) {
  for (const bool arrives : {true, false}) {
    MachineHarness m;
    m.becomeLeading();
    LeaseRecord stored = m.written();
    for (int i = 0; i < 300; ++i) {
      ASSERT_EQ(m.toWakeup(), "renew");
      const bool matches = m.expected().find(stored.version.text()) != std::string::npos;
      ASSERT_TRUE(matches) << "the condition names every version that the record may have";
      const bool answered = i % 3 == 2;
      if (arrives || answered) stored = m.written();
      m.answerWrite(answered ? WriteOutcome{Applied{FencingToken{1}}} : WriteOutcome{Unknown{transientError()}});
    }
    EXPECT_TRUE(m.revocations().empty());
    EXPECT_TRUE(m.leads());
  }
}

TEST(I8LostReplies, aStoreThatNeverAnswersIsGivenUpAndAskedAgain) {
  MachineHarness m;
  m.becomeRenewing();
  std::string did;
  while (did.empty()) did = m.toWakeup();
  EXPECT_EQ(did, "inDoubt");
  EXPECT_EQ(m.machine.lastError()->message, "the store did not answer within 2994 ms");
  EXPECT_EQ(m.toWakeup(), "renew");
  EXPECT_EQ(m.write().expected.size(), 2U);
}

TEST(I8LostReplies, anUnknownWriteIsNeverSuccess) {
  MachineHarness m;
  m.becomeAcquiring();
  m.answerWrite(Unknown{transientError()});
  EXPECT_EQ(m.elections(), 0U);
  EXPECT_FALSE(m.leads());
  MachineHarness renewing;
  renewing.becomeRenewing();
  const Instant anchor = renewing.published().anchor;
  renewing.answerWrite(Unknown{transientError()});
  EXPECT_EQ(renewing.published().anchor, anchor);
}

TEST(I8LostReplies, ofManyLostAcquisitionsTheOneThatArrivedIsTheTerm) {
  MachineHarness m;
  m.becomeAcquiring();
  std::vector<LeaseRecord> sent;
  std::vector<Instant> sentAt;
  for (int i = 0; i < 3; ++i) {
    sent.push_back(m.written());
    sentAt.push_back(m.now);
    EXPECT_EQ(m.answerWrite(Unknown{transientError()}), "read");
    m.answerRead(absent);
    ASSERT_EQ(readUntilElse(m, absent), "acquire");
  }
  m.answerWrite(Unknown{transientError()});
  m.answerRead(std::optional{sent[1]});
  ASSERT_TRUE(m.leads());
  EXPECT_EQ(m.published().anchor, sentAt[1]);
  m.after(3s);
  EXPECT_EQ(m.expected(), sent[1].version.text());
}

/// More acquisitions are lost than are remembered: the forgotten one appears as the candidate's own record and is taken
/// again.
TEST(I8LostReplies, aForgottenAcquisitionThatArrivedIsTakenOverAtOnce) {
  MachineHarness m;
  m.becomeAcquiring();
  const LeaseRecord first = m.written();
  for (int i = 0; i < 5; ++i) {
    m.answerWrite(Unknown{transientError()});
    m.answerRead(absent);
    ASSERT_EQ(readUntilElse(m, absent), "acquire");
  }
  const Instant from = m.now;
  EXPECT_EQ(m.answerWrite(Conflict{std::optional{first}}), "");
  EXPECT_EQ(readUntilElse(m, first), "acquire");
  EXPECT_EQ(m.expected(), first.version.text());
  EXPECT_LE(elapsedForHolder(from, m.now), 500ms);
}

}  // namespace
}  // namespace tenure::test
