// What a release leaves and tells, and what the next acquisition makes of it.
#include "lockcore/lock_acquire.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

TEST_F(LockAcquire, theReleaseMarksOrDeletesAsTheLockSays) {
  Lock marked = world.acquireNow(*a, "marked", {.data = "kept"});
  world.release(marked);
  EXPECT_TRUE(world.stored("marked")->released);
  EXPECT_EQ(world.stored("marked")->data, "kept");
  Lock deleted = world.acquireNow(*a, "deleted", {.deleteOnRelease = true});
  EXPECT_EQ(world.release(deleted), ReleaseResult::released);
  EXPECT_FALSE(world.stored("deleted"));
  Lock again = world.acquireNow(*a, "deleted");
  EXPECT_EQ(again.fencingToken(), FencingToken{2}) << "the counter outlives the record (I7)";
  EXPECT_EQ(world.release(again, {.deleteRecord = true}), ReleaseResult::released);
  EXPECT_FALSE(world.stored("deleted"));
}

TEST_F(LockAcquire, theReleaseLeavesData) {
  Lock lock = world.acquireNow(*a, "orders", {.data = "first"});
  world.release(lock, {.data = "last"});
  EXPECT_EQ(world.stored("orders")->data, "last");
  lock = world.acquireNow(*a, "orders");
  EXPECT_EQ(lock.data(), "last");
  world.release(lock, {.clearData = true});
  EXPECT_EQ(world.stored("orders")->data, "");
}

TEST_F(LockAcquire, releaseTellsReleasedLostAndNeverHeldApart) {
  Lock lock = world.acquireNow(*a, "orders");
  EXPECT_EQ(world.release(lock), ReleaseResult::released);
  EXPECT_EQ(world.release(lock), ReleaseResult::released) << "S1-56: again, the same";
  Lock lost = world.acquireNow(*a, "lost");
  world.scheduler->moveClocks({20s, 20s, 20s});  // this process did not run
  Lock successor = world.acquireNow(*b, "other");
  EXPECT_EQ(world.release(lost), ReleaseResult::notHeld);
  Lock moved = std::move(successor);
  EXPECT_EQ(successor.release(), ReleaseResult::notHeld);  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(moved.isHeld());
}

TEST_F(LockAcquire, aLostHoldersReleaseLeavesTheSuccessorAlone) {
  Lock lost = world.acquireNow(*a, "orders");
  LeaseRecord other = othersRecord("thief-1", 9);
  world.store->writeNow(
      {{"orders"}, WriteRequest::Purpose::acquire, {world.stored("orders")->version}, other, FencingToken{8}});
  EXPECT_EQ(world.release(lost), ReleaseResult::notHeld);
  EXPECT_EQ(world.stored("orders")->holder, other.holder);
  EXPECT_FALSE(world.stored("orders")->released);
}

TEST_F(LockAcquire, aFailedReleaseIsRetriedAndAHopelessOneIsUnknown) {
  Lock lock = world.acquireNow(*a, "orders");
  world.store->failAt(world.store->calls() + 1, Fault::rejected);
  lock.release({.waitFor = 0ms});
  world.pass(3s);
  EXPECT_EQ(lock.release(), ReleaseResult::released);
  Lock hopeless = world.acquireNow(*a, "hopeless");
  for (std::size_t i = 1; i < 200; ++i) world.store->failAt(world.store->calls() + i, Fault::rejected);
  hopeless.release({.waitFor = 0ms});
  EXPECT_EQ(hopeless.release(), ReleaseResult::unknown);
  EXPECT_FALSE(hopeless.isHeld()) << "S3-15: no claim";
  world.pass(11s);
  EXPECT_EQ(hopeless.release(), ReleaseResult::unknown);
  EXPECT_NE(a->candidate(), "");
}

TEST_F(LockAcquire, afterALossTheKeyMayBeAcquiredAnewWithAHigherToken) {
  Lock lost = world.acquireNow(*a, "orders");
  world.scheduler->moveClocks({20s, 20s, 20s});
  world.settle();
  EXPECT_FALSE(lost.isHeld());
  world.pass(1s);
  EXPECT_FALSE(lost.isHeld()) << "S1-55: it never comes back by itself";
  ASSERT_TRUE(lost.loss());
  EXPECT_EQ(lost.loss()->reason, RevokeReason::expired);
  Lock again = world.acquireNow(*a, "orders");
  EXPECT_GT(again.fencingToken(), lost.fencingToken());
  EXPECT_FALSE(lost.isHeld());
  EXPECT_TRUE(again.isHeld());
  EXPECT_EQ(world.release(lost), ReleaseResult::notHeld);
  EXPECT_TRUE(again.isHeld());
}

TEST_F(LockAcquire, uncontendedAcquireAndReleaseCostAReadAndTwoWritesThenTwoWrites) {
  Lock lock = world.acquireNow(*a, "orders");
  EXPECT_EQ(world.store->calls(), 2U);
  EXPECT_EQ(world.store->calls(Operation::read), 1U);
  world.release(lock);
  EXPECT_EQ(world.store->calls(), 3U);
  Lock again = world.acquireNow(*a, "orders");
  EXPECT_EQ(world.store->calls(), 4U) << "what this client released it takes without a look";
  world.release(again);
  EXPECT_EQ(world.store->calls(), 5U);
  EXPECT_EQ(world.store->calls(Operation::read), 1U);
}

TEST_F(LockAcquire, aHandOverWithinAProcessCostsTwoWritesHoweverManyWait) {
  std::vector<std::unique_ptr<LockClient>> clients;
  std::vector<LockWorld::Outcome> outcomes;
  int watches = 0;
  world.store->onWatch = [&](const std::function<void()>&) { return ++watches, nullptr; };
  for (int i = 0; i < 20; ++i) {
    clients.push_back(world.makeClient("c" + std::to_string(i)));
    outcomes.push_back(world.begin(*clients.back(), "orders"));
  }
  for (std::size_t turn = 0; turn < 60; ++turn) {
    LockWorld::Outcome& outcome = outcomes.at(turn % clients.size());
    ASSERT_TRUE(*outcome) << "first come, first served";
    Lock lock = std::move(**outcome).value();
    EXPECT_EQ(lock.fencingToken(), FencingToken{turn + 1});
    const std::size_t before = world.store->calls();
    EXPECT_EQ(world.release(lock), ReleaseResult::released);
    EXPECT_EQ(world.store->calls() - before, 2U) << "its release and the next one's acquisition, turn " << turn;
    outcome = world.begin(*clients.at(turn % clients.size()), "orders");
  }
  EXPECT_EQ(world.store->calls(Operation::read), 1U) << "the first one's, when it came";
  EXPECT_EQ(watches, 1) << "whoever acquires without a look has nothing to be woken for";
  for (auto& client : clients) world.blocking([&] { client->close(); });
}

TEST_F(LockAcquire, aHandOverWithDataIsLookedAt) {
  const auto first = world.begin(*a, "orders", {.data = "old"});
  const auto next = world.begin(*b, "orders");
  Lock lock = std::move(**first).value();
  world.release(lock, {.data = "new"});
  ASSERT_TRUE(*next);
  EXPECT_EQ((*next)->value().data(), "new");
}

TEST_F(LockAcquire, aReleasedLockThatAnotherTookIsNotTakenBlindly) {
  Lock lock = world.acquireNow(*a, "orders");
  world.release(lock);
  const Lock others = world.acquireNow(*b, "orders");
  const LockResult<Lock> refused = world.tryNow(*a, "orders");
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().code, LockErrc::held);
  EXPECT_EQ(refused.error().holder->holder, b->candidate());
  EXPECT_TRUE(others.isHeld());
}

}  // namespace
}  // namespace tenure::test
