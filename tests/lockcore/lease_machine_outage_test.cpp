// A holder whose store answers at once that it cannot: how often it is asked, and what follows when it can again.
#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// Answers every request in this way until the term is over; how many there were.
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

/// Else a store in trouble would be asked by each of thousands of holders in ever smaller steps to the very end.
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

/// The record is its own, and there is nobody to wait for, however many renewals were refused meanwhile.
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

}  // namespace
}  // namespace tenure::test
