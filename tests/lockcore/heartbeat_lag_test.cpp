// How late heartbeats are, and what happens to a lease whose heartbeat would come too late.
#include <utility>

#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

class HeartbeatLagTest : public testing::Test {
 protected:
  /// The next heartbeat is sent `late` after it was due, and answered `answer` later.
  void beat(std::chrono::nanoseconds late, std::chrono::nanoseconds answer) {
    m.now = m.now + *m.machine.untilWakeup(m.now) + late;
    m.wake();
    m.now = m.now + answer;
    m.answerWrite(Applied{FencingToken{1}});
  }

  /// The last one, and the worst.
  using Lag = std::pair<std::chrono::nanoseconds, std::chrono::nanoseconds>;
  [[nodiscard]] Lag lag() const { return {m.machine.heartbeatLag(), m.machine.worstHeartbeatLag()}; }

  MachineHarness m;
};

TEST_F(HeartbeatLagTest, IsWhatPassesFromWhenItWasDueUntilItWasAcknowledged) {
  m.becomeLeading();
  EXPECT_EQ(lag(), (Lag{0ms, 0ms}));
  beat(0ms, 40ms);
  EXPECT_EQ(lag(), (Lag{40ms, 40ms}));
  beat(200ms, 50ms);
  EXPECT_EQ(lag(), (Lag{250ms, 250ms}));
  beat(1ms, 2ms);
  EXPECT_EQ(lag(), (Lag{3ms, 250ms}));
}

TEST_F(HeartbeatLagTest, CountsFailedAttemptsToo) {
  m.becomeLeading();
  m.toWakeup();
  const Instant due = m.now;
  m.answerWrite(Rejected{{ErrorClass::transient, "busy"}});
  m.toWakeup();
  m.answerWrite(Applied{FencingToken{1}});
  EXPECT_EQ(m.machine.heartbeatLag(), elapsedForHolder(due, m.now));
  EXPECT_GT(m.machine.heartbeatLag(), 0ms);
}

/// The acquisition waited in the store's queue behind those of others. The right counts from before it was sent, so the
/// first heartbeat is sent at once. But a lease that nobody holds yet has no late heartbeat.
TEST_F(HeartbeatLagTest, DoesNotCountTheWaitOfTheAcquisition) {
  m.becomeAcquiring();
  m.now = m.now + 4s;  // a heartbeat and a second
  const std::string won = m.answerWrite(Applied{FencingToken{1}});
  EXPECT_NE(won.find("renew"), std::string::npos) << "it is due: " << won;
  m.now = m.now + 30ms;
  m.answerWrite(Applied{FencingToken{1}});
  EXPECT_EQ(lag(), (Lag{30ms, 30ms}));
  beat(200ms, 50ms);
  EXPECT_EQ(lag(), (Lag{250ms, 250ms})) << "the next one counts whole";
}

TEST_F(HeartbeatLagTest, ALeaseWhoseHeartbeatWouldComeTooLateStepsDownBeforeItSendsOne) {
  m.becomeLeading();
  const Instant elected = m.published().anchor;
  m.now = elected + 8989ms;  // the time for which it leads
  EXPECT_FALSE(m.leads()) << "for those who ask, on time and without a step";
  const std::string done = m.wake();
  ASSERT_EQ(m.revocations().size(), 1U) << done;
  EXPECT_EQ(m.revocations().front().reason, RevokeReason::expired);
  EXPECT_EQ(done.find("renew"), std::string::npos) << done;
}

TEST_F(HeartbeatLagTest, AHeartbeatThatIsAcknowledgedTooLateDoesNotReviveTheLease) {
  m.becomeRenewing();
  m.now = m.published().anchor + 9000ms;
  m.answerWrite(Applied{FencingToken{1}});
  ASSERT_EQ(m.revocations().size(), 1U);
  EXPECT_FALSE(m.leads());
}

}  // namespace
}  // namespace tenure::test
