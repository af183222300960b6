// A holder whose store answers at once that it is unavailable: how often it is asked, and what follows when it
// recovers.
#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// Gives every request this answer until the term is over; returns the number of requests.
int requestsUntilTheEnd(MachineHarness& m, const WriteOutcome& toWrite) {
  int requests = 0;
  while (m.state() == LeaseState::leading && requests < 1000) {
    const std::string did = m.toWakeup();
    if (did == "renew") {
      m.answerWrite(toWrite);
    } else if (did == "read") {
      m.answerRead(transientError("refused"));
    } else {
      continue;
    }
    ++requests;
  }
  EXPECT_EQ(m.revocations().back().reason, RevokeReason::storeUnreachable);
  return requests;
}

/// Otherwise each of thousands of holders would ask a failing store in ever smaller steps, until the very end.
TEST(OutageOfAHolder, asksNoMoreThanTwoDozenTimesBeforeTheTermEnds) {
  for (const WriteOutcome& outcome :
       {WriteOutcome{Rejected{transientError("refused")}}, WriteOutcome{Unknown{transientError("cut")}}}) {
    MachineHarness m;
    m.becomeLeading();
    const int requests = requestsUntilTheEnd(m, outcome);
    EXPECT_GE(requests, 8) << "a heartbeat is not all that is tried";
    EXPECT_LE(requests, 24);
  }
}

/// The record is its own, so there is no holder to wait for, even if many renewals were refused meanwhile.
TEST(OutageOfAHolder, takesItsOwnRecordAgainAtOnce) {
  LeaseOptions options = tenSecondLease();
  options.heartbeat = 1s;  // many renewals
  MachineHarness m{options};
  m.becomeLeading();
  const LeaseRecord own = m.written();
  EXPECT_GT(requestsUntilTheEnd(m, Rejected{transientError("refused")}), 16);
  m.step(event::WorkEnded{});
  EXPECT_NE(m.answerRead(std::optional{own}).find("acquire"), std::string::npos);
  EXPECT_EQ(m.expected(), own.version.text());
}

/// It leads, and one renewal is unanswered. So many came after that one that no condition names it any more. Reads of
/// the record show that none of them has arrived. Returns what the first one writes if it arrives after all.
LeaseRecord leaveManyRenewalsUnanswered(MachineHarness& m) {
  m.becomeLeading();
  const LeaseRecord own = m.written();
  std::optional<LeaseRecord> first;
  int looks = 0;
  while (m.state() == LeaseState::leading) {
    const std::string did = m.toWakeup();
    if (did == "read") {
      ++looks;
      m.answerRead(own);
    } else if (did == "renew") {
      if (!first) first = m.written();
      if (looks > 0 && m.expected().find(first->version.text()) == std::string::npos) return *first;
      m.answerWrite(Unknown{transientError("cut")});
    }
  }
  ADD_FAILURE() << "the term ended before";
  return own;
}

LeaseOptions manyHeartbeats() {
  LeaseOptions options = tenSecondLease();
  options.heartbeat = 1s;
  return options;
}

TEST(OutageOfAHolder, aRenewalThatArrivesBehindManyOthersCostsNoTerm) {
  MachineHarness m{manyHeartbeats()};
  const LeaseRecord first = leaveManyRenewalsUnanswered(m);
  const TermState before = m.published();
  EXPECT_EQ(m.answerWrite(Conflict{std::optional{first}}), "publish(leads) renewed(afterDoubt) renew");
  EXPECT_EQ(m.state(), LeaseState::leading);
  EXPECT_TRUE(m.revocations().empty());
  EXPECT_GT(m.published().anchor.boottime, before.anchor.boottime) << "it counts from when that one was sent";
  EXPECT_LT(m.published().anchor.boottime, m.now.boottime);
  EXPECT_EQ(m.expected().substr(0, first.version.text().size()), first.version.text());
}

TEST(OutageOfAHolder, aReleaseNamesARenewalThatArrivesBehindManyOthers) {
  MachineHarness m{manyHeartbeats()};
  const LeaseRecord first = leaveManyRenewalsUnanswered(m);
  m.answerWrite(Unknown{transientError("cut")});
  m.step(event::StepDown{});
  EXPECT_EQ(m.step(event::WorkEnded{}), "publish(none) release");
  EXPECT_EQ(m.expected().find(first.version.text()), std::string::npos);
  EXPECT_EQ(m.answerWrite(Conflict{std::optional{first}}), "release");
  EXPECT_EQ(m.expected().substr(0, first.version.text().size()), first.version.text());
}

/// It cannot know whether the record is still its own.
TEST(OutageOfAHolder, aReleaseBehindManyRenewalsSaysNoMoreThanItKnows) {
  MachineHarness m{manyHeartbeats()};
  leaveManyRenewalsUnanswered(m);
  m.answerWrite(Unknown{transientError("cut")});
  m.step(event::Stop{});
  m.step(event::WorkEnded{});
  EXPECT_NE(m.answerWrite(Conflict{}).find("stopped(unknown)"), std::string::npos);
}

}  // namespace
}  // namespace tenure::test
