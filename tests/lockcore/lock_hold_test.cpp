// How long a lock is held, and what its renewals change.
#include "lockcore/lock_hold.hpp"

#include <set>

#include "support/data_refusing_store.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

TEST_F(LockHold, itIsRenewedInTheBackground) {
  const Lock lock = world.acquireNow(*a, "orders");
  std::set<std::string> versions;
  for (int i = 0; i < 50; ++i) {
    versions.insert(world.stored("orders")->version.text());
    EXPECT_TRUE(lock.isHeld());
    world.pass(1s);
  }
  EXPECT_GE(versions.size(), 16U);
  EXPECT_LE(versions.size(), 18U);
  EXPECT_EQ(world.stored("orders")->token, lock.fencingToken());
}

TEST_F(LockHold, isHeldFollowsTheClockWithEveryThreadBlocked) {
  const Lock lock = world.acquireNow(*a, "orders");
  EXPECT_TRUE(lock.isHeld());
  const auto left = lock.remaining() - 1ns;
  world.scheduler->moveClocks({left, left, left});
  EXPECT_TRUE(lock.isHeld());
  EXPECT_TRUE(a->holds({"orders"}));
  world.scheduler->moveClocks({1ns, 1ns, 1ns});
  EXPECT_FALSE(lock.isHeld());
  EXPECT_FALSE(a->holds({"orders"}));
  EXPECT_TRUE(a->held().empty());
  EXPECT_TRUE(lock.isValid()) << "the work winds up";
  world.scheduler->moveClocks({1s, 1s, 1s});
  EXPECT_FALSE(lock.isValid());
}

TEST_F(LockHold, timeSpentSuspendedCounts) {
  const Lock lock = world.acquireNow(*a, "orders");
  world.scheduler->suspend(9s);
  EXPECT_FALSE(lock.isHeld());
}

TEST_F(LockHold, remainingFallsFromTheLeaseToZeroAndARenewalMovesIt) {
  Lock lock = world.acquireNow(*a, "orders", {.manualHeartbeat = true});
  std::chrono::nanoseconds before = 9s;
  for (int i = 0; i < 100; ++i) {
    const auto left = lock.remaining();
    EXPECT_LE(left, 8989ms);
    EXPECT_LE(left, before);
    EXPECT_GE(left, 0ns);
    before = left;
    world.scheduler->moveClocks({100ms, 100ms, 100ms});
    if (i == 50) {
      EXPECT_TRUE(isGood(renew(lock)));
      EXPECT_EQ(lock.remaining(), 8989ms);
      EXPECT_EQ(lock.lease(), 10s);
      before = 9s;
    }
  }
}

TEST_F(LockHold, manualHeartbeatsRenewOnlyWhenAsked) {
  Lock lock = world.acquireNow(*a, "orders", {.manualHeartbeat = true});
  const std::size_t before = world.store->calls();
  world.pass(8s);
  EXPECT_EQ(world.store->calls(), before);
  EXPECT_TRUE(isGood(renew(lock)));
  EXPECT_EQ(world.store->calls(), before + 1);
  world.pass(8s);
  EXPECT_TRUE(lock.isHeld());
  world.pass(1s);
  EXPECT_FALSE(lock.isHeld());
  ASSERT_TRUE(lock.loss());
  EXPECT_EQ(lock.loss()->reason, RevokeReason::expired);
}

TEST_F(LockHold, renewChangesTheVersionAndFillsTheLeaseUp) {
  Lock lock = world.acquireNow(*a, "orders");
  const RecordVersion first = world.stored("orders")->version;
  world.pass(1s);
  EXPECT_LT(lock.remaining(), 8s);
  EXPECT_TRUE(isGood(renew(lock)));
  EXPECT_NE(world.stored("orders")->version, first);
  EXPECT_EQ(lock.remaining(), 8989ms);
}

TEST_F(LockHold, setDataAndClearDataAreInTheRecordOnceAcknowledged) {
  Lock lock = world.acquireNow(*a, "orders", {.data = "one"});
  EXPECT_TRUE(isGood(renew(lock, {.data = "two"})));
  EXPECT_EQ(world.stored("orders")->data, "two");
  EXPECT_EQ(lock.data(), "two");
  world.pass(10s);
  EXPECT_EQ(world.stored("orders")->data, "two") << "later heartbeats leave it";
  EXPECT_TRUE(isGood(renew(lock, {.clearData = true})));
  EXPECT_EQ(world.stored("orders")->data, "");
  EXPECT_EQ(lock.data(), "");
}

TEST_F(LockHold, dataAndClearDataTogetherAreRefusedWithBothNames) {
  Lock lock = world.acquireNow(*a, "orders", {.data = "one"});
  const auto refused = renew(lock, {.data = "two", .clearData = true});
  ASSERT_TRUE(*refused);
  EXPECT_EQ((*refused)->error().code, LockErrc::invalidOptions);
  EXPECT_NE((*refused)->error().message.find("data"), std::string::npos);
  EXPECT_NE((*refused)->error().message.find("clearData"), std::string::npos);
  EXPECT_EQ(world.stored("orders")->data, "one");
}

TEST_F(LockHold, dataWhoseReplyWasLostIsSentAgainUntilItIsAcknowledged) {
  Lock lock = world.acquireNow(*a, "orders", {.data = "one"});
  world.store->failAt(world.store->calls() + 1, Fault::unknownLost);
  const auto outcome = renew(lock, {.data = "two"});
  EXPECT_FALSE(*outcome);
  EXPECT_EQ(lock.data(), "one");
  world.pass(3s);
  EXPECT_TRUE(isGood(outcome));
  EXPECT_EQ(world.stored("orders")->data, "two");
  EXPECT_EQ(lock.data(), "two");
}

TEST_F(LockHold, dataThatTheStoreRefusesForGoodAreAnErrorAndTheLockIsKept) {
  const auto full = std::make_shared<DataRefusingStore>(world.store, world.scheduler, 3);
  LockClientOptions options;
  options.lease = lockLease();
  Runtime runtime;
  runtime.scheduler = world.loop;
  runtime.executor = [this](std::function<void()> task) { world.callbacks->post(std::move(task)); };
  LockClient client{full, std::move(options), std::move(runtime)};
  Lock lock = world.acquireNow(client, "orders", {.data = "one"});
  const auto outcome = renew(lock, {.lease = 30s, .data = "too much"});
  ASSERT_TRUE(*outcome);
  ASSERT_TRUE((*outcome)->has_error());
  EXPECT_EQ((*outcome)->error().code, LockErrc::storeMisconfigured);
  ASSERT_TRUE((*outcome)->error().store);
  EXPECT_EQ((*outcome)->error().store->message, "the item is full");
  EXPECT_EQ(lock.data(), "one");
  EXPECT_EQ(lock.lease(), 30s) << "the rest of the change counts";
  world.pass(60s);
  EXPECT_TRUE(lock.isHeld());
  EXPECT_TRUE(isGood(renew(lock, {.data = "two"})));
  EXPECT_EQ(world.stored("orders")->data, "two");
  world.release(lock, {.data = "too much again"});
  EXPECT_TRUE(world.stored("orders")->released) << "without those data";
  EXPECT_EQ(world.stored("orders")->data, "two");
  world.blocking([&] { return client.close(); });
}

TEST_F(LockHold, aChangedLeaseStaysInLaterHeartbeatsAndChallengersHonourIt) {
  Lock lock = world.acquireNow(*a, "orders");
  EXPECT_TRUE(isGood(renew(lock, {.lease = 30s})));
  EXPECT_EQ(lock.lease(), 30s);
  for (int heartbeat = 0; heartbeat < 3; ++heartbeat) {
    EXPECT_EQ(world.stored("orders")->leaseDuration, 30s);
    const RecordVersion before = world.stored("orders")->version;
    world.pass(10100ms);
    EXPECT_NE(world.stored("orders")->version, before);
  }
  EXPECT_TRUE(lock.isHeld());
}

TEST_F(LockHold, aDeadHoldersLongLeaseIsWaitedOutWhole) {
  Lock lock = world.acquireNow(*a, "orders", {.manualHeartbeat = true});
  EXPECT_TRUE(isGood(renew(lock, {.lease = 30s})));
  const auto challenger = world.begin(*b, "orders");
  world.pass(29900ms);
  EXPECT_FALSE(*challenger);
  world.pass(2s);
  ASSERT_TRUE(*challenger);
  EXPECT_TRUE((*challenger)->has_value());
  EXPECT_FALSE(lock.isHeld());
}

TEST_F(LockHold, whoDoesNotRenewLosesItWhenTheLeaseIsOverAndNotBefore) {
  Lock lock = world.acquireNow(*a, "orders", {.manualHeartbeat = true});
  std::vector<RevokeReason> told;
  lock.onLost([&](const TermEnd& loss) { told.push_back(loss.reason); });
  const auto challenger = world.begin(*b, "orders");
  world.pass(8900ms);
  EXPECT_TRUE(lock.isHeld()) << "8.989 s of 10 s are its own";
  EXPECT_FALSE(lock.loss());
  world.pass(100ms);
  EXPECT_FALSE(lock.isHeld());
  EXPECT_FALSE(a->holds({"orders"}));
  world.pass(900ms);
  EXPECT_EQ(told, std::vector{RevokeReason::expired});
  EXPECT_FALSE(*challenger) << "the lease in the record is not over";
  world.pass(1s);
  ASSERT_TRUE(*challenger);
  const Lock& successor = (*challenger)->value();
  EXPECT_TRUE(successor.isHeld());
  EXPECT_GT(successor.fencingToken(), lock.fencingToken());
  EXPECT_EQ(lock.renew().error().code, LockErrc::lost);
  EXPECT_EQ(lock.release(), ReleaseResult::notHeld);
  EXPECT_EQ(world.stored("orders")->token, successor.fencingToken()) << "its successor's lock was not touched";
}

TEST_F(LockHold, whoRenewsKeepsItHoweverLongItIsWaitedFor) {
  const Lock lock = world.acquireNow(*a, "orders");
  const auto challenger = world.begin(*b, "orders");
  for (int second = 0; second < 50; ++second) {
    world.pass(1s);
    EXPECT_TRUE(lock.isHeld());
  }
  EXPECT_FALSE(*challenger);
  EXPECT_FALSE(lock.loss());
}

TEST_F(LockHold, extendMakesTheLeaseLongerAndBadOnesAreRefused) {
  Lock lock = world.acquireNow(*a, "orders");
  EXPECT_TRUE(world.blocking([&] { return lock.extend(5s); }).has_value());
  EXPECT_EQ(lock.lease(), 15s);
  EXPECT_EQ(world.stored("orders")->leaseDuration, 15s);
  EXPECT_EQ(lock.extend(0s).error().code, LockErrc::invalidOptions);
  EXPECT_EQ(lock.extend(25h).error().code, LockErrc::invalidOptions);
  EXPECT_EQ(world.blocking([&] { return lock.extend(24h); }).error().code, LockErrc::invalidOptions)
      << "15 s + 24 h is more than a lease may be";
  EXPECT_EQ(lock.lease(), 15s);
}

TEST_F(LockHold, ensureRenewsWhenLessIsLeftAndNeverChangesTheLease) {
  Lock lock = world.acquireNow(*a, "orders", {.manualHeartbeat = true});
  const std::size_t before = world.store->calls();
  EXPECT_TRUE(lock.ensure(5s).has_value());
  EXPECT_EQ(world.store->calls(), before) << "there was enough";
  world.pass(8500ms);
  EXPECT_TRUE(world.blocking([&] { return lock.ensure(1s); }).has_value());
  EXPECT_GE(lock.remaining(), 1s);
  EXPECT_EQ(world.store->calls(), before + 1);
  EXPECT_EQ(lock.ensure(9s).error().code, LockErrc::invalidOptions);
  EXPECT_EQ(lock.lease(), 10s);
  world.scheduler->moveClocks({20s, 20s, 20s});
  world.settle();
  EXPECT_EQ(world.blocking([&] { return lock.ensure(1s); }).error().code, LockErrc::lost);
}

TEST_F(LockHold, ensureIsContentWithJustAsMuchAsItWasAskedFor) {
  Lock lock = world.acquireNow(*a, "orders", {.manualHeartbeat = true});
  ASSERT_TRUE(isGood(renew(lock)));
  const auto most = std::chrono::duration_cast<std::chrono::milliseconds>(lock.remaining());
  world.pass(1s);
  auto renewed = std::async(std::launch::async, [&] { return lock.ensure(most); });
  while (renewed.wait_for(1ms) != std::future_status::ready) world.settle();  // no time passes
  EXPECT_TRUE(renewed.get().has_value());
  EXPECT_EQ(lock.remaining(), most) << "else this proves nothing";
}

TEST_F(LockHold, failedRenewalsDoNotEndItBeforeTheDeadline) {
  const Lock lock = world.acquireNow(*a, "orders");
  for (std::size_t i = 1; i <= 3; ++i) world.store->failAt(world.store->calls() + i, Fault::rejected);
  world.pass(30s);
  EXPECT_TRUE(lock.isHeld());
  EXPECT_EQ(world.stored("orders")->token, lock.fencingToken());
}

TEST_F(LockHold, everyOtherReplyMayBeLost) {
  const Lock lock = world.acquireNow(*a, "orders");
  world.store->beLossy();
  world.pass(10min);
  EXPECT_TRUE(lock.isHeld());
  EXPECT_EQ(world.stored("orders")->token, lock.fencingToken());
}

}  // namespace
}  // namespace tenure::test
