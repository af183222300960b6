// A candidate's read and its acquisition x each answer that a store can give.
#include <string>
#include <vector>

#include "lockcore/lease_machine_replies.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

TEST(CandidateReadAnswered, heldByAnotherIsWatched) {
  MachineHarness m;
  m.becomeReading();
  EXPECT_EQ(told(m, std::optional{othersRecord()}), "candidate: leader(b#2)");
  EXPECT_EQ(m.machine.leader()->holder, "b#2");
  EXPECT_EQ(m.machine.leader()->token, FencingToken{5});
  EXPECT_FALSE(m.machine.leader()->self);
}

TEST(CandidateReadAnswered, heldByAnotherWithALivenessFileIsFollowed) {
  MachineHarness m;
  m.becomeReading();
  LeaseRecord record = othersRecord();
  record.livenessFile = LivenessFile{"beacon-1", "boot", 1, 2};
  EXPECT_EQ(told(m, std::optional{record}), "candidate: leader(b#2) follow");
  m.step(event::StoreHint{});
  record.version = RecordVersion{"other-2"};
  EXPECT_EQ(told(m, std::optional{record}), "candidate: ") << "the same liveness file is followed already";
  m.step(event::StoreHint{});
  record.livenessFile->id = "beacon-2";
  EXPECT_EQ(told(m, std::optional{record}), "candidate: follow") << "another liveness file";
  m.step(event::StoreHint{});
  EXPECT_EQ(told(m, std::optional{releasedRecord()}), "candidate: leader(none) unfollow");
}

TEST(CandidateReadAnswered, absentOrReleasedIsTakenAfterALittlePoliteness) {
  for (const auto& free : {absent, std::optional{releasedRecord()}}) {
    MachineHarness m;
    m.becomeReading();
    m.answerRead(free);
    ASSERT_LE(m.machine.untilWakeup(m.now).value(), 5ms);
    EXPECT_EQ(m.toWakeup(), "acquire");
    EXPECT_EQ(m.expected(), free ? "gone-1" : "absent");
    EXPECT_EQ(m.state(), LeaseState::acquiring);
  }
}

TEST(CandidateReadAnswered, anErrorIsShownAndTriedAgainLater) {
  for (const ErrorClass errorClass : errorClasses) {
    SCOPED_TRACE(toString(errorClass));
    MachineHarness m;
    m.becomeReading();
    EXPECT_EQ(told(m, StoreError{errorClass, "no"}), "candidate: ");
    EXPECT_EQ(m.machine.lastError(), (StoreError{errorClass, "no"}));
    EXPECT_EQ(m.machine.lastErrorAt(), m.now);
    EXPECT_GE(m.machine.untilWakeup(m.now).value(), 300ms);
    EXPECT_EQ(m.toWakeup(), "read");
  }
}

TEST(AcquireAnswered, appliedIsATerm) {
  MachineHarness m;
  m.becomeAcquiring();
  EXPECT_EQ(told(m, Applied{FencingToken{7}}), "leading: publish(leads) leader(self) elected(7)");
  EXPECT_TRUE(m.leads());
}

TEST(AcquireAnswered, aWarningOfTheStoreIsLogged) {
  MachineHarness m;
  m.becomeAcquiring();
  EXPECT_EQ(told(m, Applied{FencingToken{7}, false, "the counter was restored to 6"}),
            "leading: log publish(leads) leader(self) elected(7)");
  EXPECT_EQ(m.logLines.back(), "the counter was restored to 6");
}

TEST(AcquireAnswered, conflictThatShowsTheWinnerIsWatchedWithoutAnotherRead) {
  MachineHarness m;
  m.becomeAcquiring();
  EXPECT_EQ(told(m, Conflict{std::optional{othersRecord()}}), "candidate: leader(b#2)");
  EXPECT_GE(m.machine.untilWakeup(m.now).value(), 1s);
}

TEST(AcquireAnswered, conflictThatShowsNothingIsReadBack) {
  MachineHarness m;
  m.becomeAcquiring();
  EXPECT_EQ(told(m, Conflict{}), "candidate: read");
}

/// A write that the network delivered twice conflicts with itself, and only that answer arrives.
TEST(AcquireAnswered, conflictWithItselfIsATerm) {
  MachineHarness m;
  m.becomeAcquiring();
  const Instant sent = m.now;
  m.now = m.now + 1s;
  EXPECT_EQ(told(m, Conflict{std::optional{m.written(7)}}), "leading: publish(leads) leader(self) elected(7)");
  EXPECT_EQ(m.published().anchor, sent) << "the right counts from before the sending (I2)";

  MachineHarness blind;
  blind.becomeAcquiring();
  EXPECT_EQ(told(blind, Conflict{}), "candidate: read");
  EXPECT_EQ(told(blind, std::optional{blind.written(7)}), "leading: publish(leads) leader(self) elected(7)");
}

/// Somebody marked it by hand and left the version unchanged. From then on anybody may take it.
TEST(AcquireAnswered, whatIsMarkedAsReleasedIsNoTermThoughItIsTheAcquisitionsOwn) {
  for (const bool shownByTheConflict : {true, false}) {
    MachineHarness m;
    m.becomeAcquiring();
    LeaseRecord marked = m.written(7);
    marked.released = true;
    if (shownByTheConflict) {
      m.answerWrite(Conflict{std::optional{marked}});
    } else {
      ASSERT_EQ(told(m, Unknown{transientError()}), "candidate: read");
      m.answerRead(marked);
    }
    EXPECT_EQ(m.elections(), 0U) << shownByTheConflict;
    EXPECT_FALSE(m.leads()) << shownByTheConflict;
    EXPECT_EQ(readUntilElse(m, marked), "acquire") << shownByTheConflict;
    EXPECT_EQ(m.expected(), marked.version.text()) << "it is taken anew, as anybody would take it";
  }
}

TEST(AcquireAnswered, rejectedIsTriedAgainLaterAfterARead) {
  for (const ErrorClass errorClass : errorClasses) {
    SCOPED_TRACE(toString(errorClass));
    MachineHarness m;
    m.becomeAcquiring();
    EXPECT_EQ(told(m, Rejected{{errorClass, "no"}}), "candidate: ");
    EXPECT_EQ(m.machine.lastError(), (StoreError{errorClass, "no"}));
    EXPECT_GE(m.machine.untilWakeup(m.now).value(), 300ms);
    EXPECT_EQ(m.toWakeup(), "read");
  }
}

TEST(AcquireAnswered, unknownIsReadBackAtOnceAndIsATermIfItArrived) {
  MachineHarness m;
  m.becomeAcquiring();
  const Instant sent = m.now;
  const LeaseRecord mine = m.written(7);
  m.now = m.now + 100ms;
  EXPECT_EQ(told(m, Unknown{transientError()}), "candidate: read");
  m.now = m.now + 100ms;
  EXPECT_EQ(told(m, std::optional{mine}), "leading: publish(leads) leader(self) elected(7)");
  EXPECT_EQ(m.published().anchor, sent);
}

TEST(AcquireAnswered, unknownThatDidNotArriveIsTriedAgain) {
  MachineHarness m;
  m.becomeAcquiring();
  EXPECT_EQ(told(m, Unknown{transientError()}), "candidate: read");
  EXPECT_EQ(told(m, absent), "candidate: ");
  std::string did;
  for (int i = 0; i < 20 && did != "acquire"; ++i) {
    did = m.toWakeup();
    if (did == "read") m.answerRead(absent);
  }
  EXPECT_EQ(did, "acquire");
}

/// Reads that succeed between failing writes must not make the writes follow without a pause (k/k#65666: API
/// hammering).
TEST(AcquireAnswered, failingWritesAreSpacedOutHoweverWellReadsGo) {
  const auto acquisitionsIn = [](std::chrono::nanoseconds span, const WriteOutcome& answer) {
    MachineHarness m;
    m.becomeAcquiring();
    const Instant start = m.now;
    int acquisitions = 1;
    std::string did = m.answerWrite(answer);
    while (elapsedForHolder(start, m.now) < span) {
      m.now = m.now + 1ms;  // how long the store takes
      if (did.find("acquire") != std::string::npos) {
        ++acquisitions;
        did = m.answerWrite(answer);
      } else if (did.find("read") != std::string::npos) {
        did = m.answerRead(absent);
      } else {
        did = m.toWakeup();
      }
    }
    return acquisitions;
  };
  EXPECT_LE(acquisitionsIn(600s, Unknown{transientError()}), 300) << "at most a few in each heartbeat of 3 s";
  EXPECT_LE(acquisitionsIn(600s, Rejected{transientError()}), 300);
  EXPECT_LE(acquisitionsIn(600s, Rejected{{ErrorClass::credentials, "no"}}), 130) << "about one in each lease of 10 s";
  EXPECT_LE(acquisitionsIn(600s, Conflict{absent}), 600s / 50ms) << "a condition that never holds";
  EXPECT_LE(acquisitionsIn(600s, Conflict{}), 600s / 50ms);
  EXPECT_GE(acquisitionsIn(600s, Unknown{transientError()}), 150) << "but it goes on";
}

}  // namespace
}  // namespace tenure::test
