// I8 for locks on a store that throws after it has applied a write: the exception says nothing about the record.
#include <gtest/gtest.h>

#include "lockcore/lock_world.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

class LockStoreThrows : public testing::Test {
 protected:
  LockWorld world;
  std::unique_ptr<LockClient> a{world.makeClient("a")};
  std::unique_ptr<LockClient> b{world.makeClient("b")};

  void TearDown() override {
    for (auto* client : {&a, &b}) world.blocking([&] { return (*client)->close(); });
  }
  void throwAt(std::size_t callFromNow) {
    world.store->failAt(world.store->calls() + callFromNow, Fault::throwsApplied);
  }
};

TEST_F(LockStoreThrows, theAcquisitionThatWasAppliedIsAdopted) {
  throwAt(2);  // after a read
  const auto outcome = world.begin(*a, "orders", {.waitFor = 2s});
  world.pass(2s);
  ASSERT_TRUE(*outcome);
  ASSERT_TRUE((*outcome)->has_value()) << (*outcome)->error().message;
  EXPECT_TRUE((**outcome)->isHeld());
  EXPECT_EQ((**outcome)->fencingToken(), FencingToken{1});
  EXPECT_EQ(world.stored("orders")->token, FencingToken{1}) << "it is not acquired a second time";
  world.release(***outcome);
}

TEST_F(LockStoreThrows, anAcquisitionThatNobodyWantsAnyMoreIsReleased) {
  throwAt(2);
  world.store->failAt(world.store->calls() + 3, Fault::neverLost);  // the read that finds out what became of it
  const auto outcome = world.begin(*a, "orders");
  world.pending.request_stop();
  world.pass(4s);  // the answer to the read is awaited for a heartbeat
  ASSERT_TRUE(*outcome);
  EXPECT_EQ((*outcome)->error().code, LockErrc::cancelled);
  EXPECT_TRUE(world.stored("orders")->released);
}

TEST_F(LockStoreThrows, aRenewalThatWasAppliedCostsNothing) {
  const Lock lock = world.acquireNow(*a, "orders");
  for (int round = 0; round < 5; ++round) {
    throwAt(1);
    world.pass(20s);
    ASSERT_TRUE(lock.isHeld()) << round;
  }
  EXPECT_EQ(world.stored("orders")->token, lock.fencingToken());
}

TEST_F(LockStoreThrows, aReleaseThatWasAppliedIsFoundAndToldAsSuch) {
  Lock lock = world.acquireNow(*a, "orders");
  throwAt(1);
  static_cast<void>(lock.release({.waitFor = 0ms}));
  world.pass(1s);
  EXPECT_EQ(lock.release(), ReleaseResult::released);
  EXPECT_EQ(world.acquireNow(*b, "orders").fencingToken(), FencingToken{2});
}

/// I1, for each call that may throw.
TEST_F(LockStoreThrows, twoNeverHoldTheLock) {
  for (std::size_t call = 1; call <= 12; ++call) {
    const std::string key = "orders-" + std::to_string(call);
    throwAt(call);
    const auto first = world.begin(*a, key);
    const auto second = world.begin(*b, key);
    const auto holds = [](const LockWorld::Outcome& outcome) {
      return *outcome && (*outcome)->has_value() && (**outcome)->isHeld();
    };
    int held = 0;
    for (int step = 0; step < 1500; ++step) {
      world.pass(10ms);
      ASSERT_FALSE(holds(first) && holds(second)) << "call " << call;
      held += holds(first) || holds(second) ? 1 : 0;
      if (step == 700 && holds(first)) world.release(***first);
    }
    EXPECT_GT(held, 1300) << "call " << call << ": and nobody waits for a lease";
    for (const auto& outcome : {first, second}) {
      if (holds(outcome)) world.release(***outcome);
    }
  }
}

}  // namespace
}  // namespace tenure::test
