// What was seen of a lease without competing for it, and how a machine that begins to compete uses it.
#include "lockcore/lease/lease_sightings.hpp"

#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

class LeaseSightingsTest : public testing::Test {
 protected:
  void see(const std::optional<LeaseRecord>& record) { sightings.saw(m.now, key, record); }
  void pass(std::chrono::nanoseconds d) { m.now = m.now + d; }
  [[nodiscard]] auto untilFree() const { return sightings.untilFree(key, m.now); }
  std::string start() { return m.step(event::Start{{}, sightings.find(key)}); }

  const LeaseKey key{"billing"};
  LeaseSightings sightings;
  MachineHarness m;
};

TEST_F(LeaseSightingsTest, I3_TheWaitThatHasPassedCountsForTheMachine) {
  see(othersRecord("v1", 4, 7s));
  EXPECT_EQ(untilFree(), 7s);
  pass(5s);
  see(othersRecord("v1", 4, 7s));
  EXPECT_EQ(untilFree(), 2s);
  start();
  while (m.state() == LeaseState::candidate) {
    m.toWakeup();
    if (m.state() == LeaseState::candidate) m.answerRead(othersRecord("v1", 4, 7s));
  }
  EXPECT_EQ(m.state(), LeaseState::acquiring);
  EXPECT_EQ(m.expected(), "v1");
  const auto waited = elapsedForChallenger(sightings.find(key)->since, m.now);
  EXPECT_GE(waited, 7s) << "never sooner than the whole lease after the first sighting";
  EXPECT_LT(waited, 7s + 100ms);
}

TEST_F(LeaseSightingsTest, I3_AHolderThatRenewedSinceIsWaitedForAnew) {
  see(othersRecord("v1", 4, 7s));
  pass(6s);
  start();
  while (m.state() == LeaseState::candidate) m.toWakeup();
  EXPECT_EQ(m.expected(), "v1");
  m.answerWrite(Conflict{std::optional{othersRecord("v2", 4, 7s)}});
  const Instant renewed = m.now;
  while (m.state() == LeaseState::candidate) {
    m.toWakeup();
    if (m.state() == LeaseState::candidate) m.answerRead(othersRecord("v2", 4, 7s));
  }
  EXPECT_GE(elapsedForChallenger(renewed, m.now), 7s);
}

TEST_F(LeaseSightingsTest, WhatIsFreeIsTakenWithOneRequest) {
  see(std::nullopt);
  pass(1s);
  start();
  EXPECT_EQ(m.state(), LeaseState::acquiring);
  EXPECT_EQ(m.expected(), "absent");
}

TEST_F(LeaseSightingsTest, I7_TheTokenIsAboveEveryOneThatWasSeen) {
  LeaseRecord released = othersRecord("v3", 9, 7s);
  see(released);
  released.released = true;
  released.version = RecordVersion{"v4"};
  released.token = FencingToken{3};  // an old copy of the table was restored
  see(released);
  pass(8s);  // the term with token 9 may still run, and the machine is polite
  start();
  ASSERT_EQ(m.state(), LeaseState::acquiring);
  EXPECT_EQ(m.write().tokenFloor, FencingToken{9});
}

TEST_F(LeaseSightingsTest, ARecordThatVanishedUnderItsHolderIsWaitedOutByTheMachineToo) {
  see(othersRecord("v1", 4, 7s));
  pass(1s);
  see(std::nullopt);
  EXPECT_EQ(untilFree(), 7s);
  pass(2s);
  start();
  EXPECT_EQ(m.state(), LeaseState::candidate);
  m.after(4s);
  EXPECT_EQ(m.state(), LeaseState::candidate);
}

TEST_F(LeaseSightingsTest, I11_WhatIsNotUnderstoodIsNotFree) {
  see(std::nullopt);
  sightings.distrust(key);
  EXPECT_EQ(untilFree(), std::nullopt);
  EXPECT_EQ(sightings.find(key), std::nullopt);
  see(std::nullopt);
  EXPECT_NE(untilFree(), std::nullopt);
  sightings.forget(key);
  EXPECT_EQ(sightings.find(key), std::nullopt);
}

}  // namespace
}  // namespace tenure::test
