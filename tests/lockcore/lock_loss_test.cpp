// What ends a lock against its holder's will, what warns of it, and who is told.
#include <algorithm>
#include <atomic>
#include <future>
#include <stop_token>
#include <thread>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "lockcore/lock_hold.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

TEST_F(LockHold, aStolenLockIsToldOnceWithItsReason) {
  Lock lock = world.acquireNow(*a, "orders");
  std::vector<TermEnd> losses;
  lock.onLost([&](const TermEnd& loss) { losses.push_back(loss); });
  const std::stop_token stop = lock.stopToken();
  LeaseRecord thief = othersRecord("thief-1", 9);
  world.store->writeNow(
      {{"orders"}, WriteRequest::Purpose::acquire, {world.stored("orders")->version}, thief, FencingToken{8}});
  world.pass(3100ms);
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(losses.front().reason, RevokeReason::lost);
  EXPECT_NE(losses.front().detail.find(personOf(thief.holder)), std::string::npos);
  EXPECT_EQ(losses.front().token, lock.fencingToken());
  EXPECT_FALSE(lock.isHeld());
  EXPECT_FALSE(lock.isValid());
  world.pass(30s);
  EXPECT_EQ(losses.size(), 1U);
  EXPECT_EQ(world.stored("orders")->holder, thief.holder) << "S1-54";
}

TEST_F(LockHold, aLossBeforeTheRegistrationIsToldAllTheSame) {
  Lock lock = world.acquireNow(*a, "orders");
  world.scheduler->moveClocks({20s, 20s, 20s});
  world.settle();
  int told = 0;
  lock.onLost([&](const TermEnd& loss) {
    ++told;
    EXPECT_EQ(loss.reason, RevokeReason::expired);
  });
  EXPECT_EQ(told, 0) << "never inside the call";
  world.settle();
  EXPECT_EQ(told, 1);
}

TEST_F(LockHold, aReleaseIsNoLoss) {
  Lock lock = world.acquireNow(*a, "orders");
  int told = 0;
  lock.onLost([&](const TermEnd&) { ++told; });
  world.release(lock);
  world.pass(20s);
  EXPECT_EQ(told, 0);
  EXPECT_FALSE(lock.loss());
}

TEST_F(LockHold, anOutageEndsItAtTheDeadline) {
  Lock lock = world.acquireNow(*a, "orders");
  std::vector<TermEnd> losses;
  lock.onLost([&](const TermEnd& loss) { losses.push_back(loss); });
  for (std::size_t i = 1; i < 500; ++i) world.store->failAt(world.store->calls() + i, Fault::rejected);
  world.pass(lock.remaining() - 1ns);
  EXPECT_TRUE(lock.isHeld());
  EXPECT_TRUE(losses.empty());
  world.pass(1ns);
  EXPECT_FALSE(lock.isHeld());
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(losses.front().reason, RevokeReason::storeUnreachable);
}

TEST_F(LockHold, onExpiringTellsWhatRemainsOnceForEachTimeThatItFallsSoLow) {
  Lock lock = world.acquireNow(*a, "orders", {.manualHeartbeat = true});
  std::vector<std::chrono::nanoseconds> told;
  ASSERT_TRUE(lock.onExpiring(2s, [&](std::chrono::nanoseconds left) { told.push_back(left); }).has_value());
  world.pass(6900ms);
  EXPECT_TRUE(told.empty());
  world.pass(200ms);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_LE(told.front(), 2s);
  EXPECT_GT(told.front(), 1900ms);
  world.pass(500ms);
  EXPECT_EQ(told.size(), 1U);
  EXPECT_TRUE(isGood(renew(lock)));
  world.pass(6900ms);
  EXPECT_EQ(told.size(), 1U);
  world.pass(300ms);
  EXPECT_EQ(told.size(), 2U);
}

/// Each renewal comes so early that more is left than was watched for, and the next warning falls due before the end of
/// the lease that the one before it told of.
TEST_F(LockHold, onExpiringTellsAgainThoughItsCallbackRenewsAtOnce) {
  Lock lock = world.acquireNow(*a, "orders", {.manualHeartbeat = true});
  int told = 0;
  const auto watched = lock.onExpiring(6s, [&](std::chrono::nanoseconds) {
    ++told;
    lock.renewAsync({}, [](const LockResult<void>& renewed) { EXPECT_TRUE(renewed.has_value()); });
  });
  ASSERT_TRUE(watched.has_value());
  world.pass(60s);
  EXPECT_TRUE(lock.isHeld());
  EXPECT_GE(told, 19) << "each 2.989 s";
  EXPECT_LE(told, 21);
}

TEST_F(LockHold, onExpiringFollowsALeaseThatBecomesShorter) {
  Lock lock = world.acquireNow(*a, "orders", {.lease = 60s, .manualHeartbeat = true});
  int told = 0;
  ASSERT_TRUE(lock.onExpiring(2s, [&](std::chrono::nanoseconds) { ++told; }).has_value());
  EXPECT_TRUE(isGood(renew(lock, {.lease = 10s})));
  world.pass(6900ms);
  EXPECT_EQ(told, 0);
  world.pass(200ms);
  EXPECT_EQ(told, 1);
}

TEST_F(LockHold, onExpiringFollowsAShorterLeaseThatNobodyConfirms) {
  Lock lock = world.acquireNow(*a, "orders", {.lease = 60s, .manualHeartbeat = true});
  int told = 0;
  ASSERT_TRUE(lock.onExpiring(2s, [&](std::chrono::nanoseconds) { ++told; }).has_value());
  for (std::size_t i = 1; i < 500; ++i) world.store->failAt(world.store->calls() + i, Fault::unknownApplied);
  lock.renewAsync({.lease = 10s}, [](const LockResult<void>&) {});
  world.pass(9s);
  EXPECT_EQ(told, 1);
}

TEST_F(LockHold, onExpiringFollowsALeaseThatIsMadeShorterWhileTheLockIsInDoubt) {
  Lock lock = world.acquireNow(*a, "orders", {.lease = 60s});
  int told = 0;
  ASSERT_TRUE(lock.onExpiring(2s, [&](std::chrono::nanoseconds) { ++told; }).has_value());
  for (std::size_t i = 1; i < 500; ++i) world.store->failAt(world.store->calls() + i, Fault::unknownApplied);
  world.pass(25s);
  lock.renewAsync({.lease = 10s}, [](const LockResult<void>&) {});
  world.pass(7s);
  EXPECT_EQ(told, 0);
  world.pass(4s);
  EXPECT_EQ(told, 1);
}

TEST_F(LockHold, onExpiringIsSilentWhileHeartbeatsSucceed) {
  Lock lock = world.acquireNow(*a, "orders");
  int told = 0;
  ASSERT_TRUE(lock.onExpiring(5s, [&](std::chrono::nanoseconds) { ++told; }).has_value());
  world.pass(60s);
  EXPECT_EQ(told, 0);
}

TEST_F(LockHold, aWarningThatWouldComeAtEachHeartbeatIsRefused) {
  Lock lock = world.acquireNow(*a, "orders");
  for (const auto before : {0ms, -1ms, 5989ms, 10'000ms}) {
    EXPECT_EQ(lock.onExpiring(before, [](std::chrono::nanoseconds) {}).error().code, LockErrc::invalidOptions);
  }
  EXPECT_TRUE(lock.onExpiring(5988ms, [](std::chrono::nanoseconds) {}).has_value());
}

TEST_F(LockHold, whatACallbackThrowsIsContainedAndLogged) {
  Lock lock = world.acquireNow(*a, "orders");
  lock.onLost([](const TermEnd&) { throw std::runtime_error{"from the callback"}; });
  int second = 0;
  lock.onLost([&](const TermEnd&) { ++second; });
  world.scheduler->moveClocks({20s, 20s, 20s});
  world.settle();
  EXPECT_EQ(second, 1);
  EXPECT_NE(std::find_if(world.lines.begin(), world.lines.end(),
                         [](const std::string& line) { return line.find("from the callback") != std::string::npos; }),
            world.lines.end());
}

TEST_F(LockHold, theStopTokenFiresAtTheDeadline) {
  Lock lock = world.acquireNow(*a, "orders");
  std::promise<void> fired;
  const std::stop_callback onStop{lock.stopToken(), [&] { fired.set_value(); }};
  EXPECT_FALSE(lock.stopToken().stop_requested());
  world.scheduler->moveClocks({9s, 9s, 9s});
  world.settle();
  EXPECT_EQ(fired.get_future().wait_for(10s), std::future_status::ready);
}

TEST_F(LockHold, reportingAHigherTokenEndsTheTermAndLiftsTheNext) {
  Lock lock = world.acquireNow(*a, "orders");
  lock.reportStaleToken(FencingToken{41});
  world.settle();
  EXPECT_FALSE(lock.isHeld());
  EXPECT_EQ(lock.loss()->reason, RevokeReason::lost);
  world.release(lock);
  Lock again = world.acquireNow(*a, "orders");
  EXPECT_GT(again.fencingToken(), FencingToken{41});
}

TEST_F(LockHold, anOperatorsRequestIsReportedAndTheHandleIsStillToBeReleased) {
  Lock lock = world.acquireNow(*a, "orders");
  world.store->requestStepDownNow({"orders"}, lock.fencingToken());
  world.pass(3200ms);
  EXPECT_FALSE(lock.isHeld());
  EXPECT_TRUE(lock.isValid()) << "it is renewed while the work winds up";
  EXPECT_EQ(lock.loss()->reason, RevokeReason::steppedDown);
  EXPECT_EQ(world.tryNow(*a, "orders").error().code, LockErrc::heldBySelf);
  EXPECT_EQ(world.release(lock), ReleaseResult::released);
}

TEST_F(LockHold, aClientIsNotGoneBeforeTheCallbacksOfALockThatEndedBefore) {
  bool told = false;
  {
    Lock lock = world.acquireNow(*a, "orders");
    lock.onLost([&](const TermEnd&) { told = true; });
    world.scheduler->moveClocks({20s, 20s, 20s});
    while (world.scheduler->runReady() > 0) {
    }
  }
  while (world.scheduler->runReady() > 0) {
  }
  auto gone = std::async(std::launch::async, [&] { a.reset(); });
  EXPECT_EQ(gone.wait_for(100ms), std::future_status::timeout);
  EXPECT_FALSE(told);
  world.callbacks->runReady();
  gone.get();
  EXPECT_TRUE(told);
}

/// With threads: the end of the lock and the end of its client are told at the same time.
TEST(LockClientEnd, noCallbackOfAReleaseComesAfterIt) {
  const auto store = makeMemoryStore();
  for (int i = 0; i < 500; ++i) {
    const auto told = std::make_shared<std::atomic<bool>>(false);
    {
      LockClient client{store};
      Lock lock = client.acquire({"orders"}).value();
      lock.releaseAsync({}, [told](ReleaseResult) { *told = true; });
      while (client.acquire({"orders"}, {.waitFor = 0ms}).has_error() && i % 2 == 0) std::this_thread::yield();
    }
    ASSERT_TRUE(*told) << "round " << i;
  }
}

/// The reason that counts is the first one for which the lock was lost. What is left of the lock is released all the
/// same.
TEST_F(LockHold, aLossIsNotToldAnewWhenTheClientClosesAndTheLockIsReleased) {
  Lock lock = world.acquireNow(*a, "orders");
  std::vector<TermEnd> losses;
  lock.onLost([&](const TermEnd& loss) { losses.push_back(loss); });
  world.store->requestStepDownNow({"orders"}, lock.fencingToken());
  world.pass(3200ms);
  ASSERT_EQ(losses.size(), 1U);
  const Instant asked = world.scheduler->now();
  const CloseReport report = world.blocking([&] { return a->close(); });
  EXPECT_EQ(lock.loss()->reason, RevokeReason::steppedDown);
  EXPECT_EQ(losses.size(), 1U);
  EXPECT_TRUE(world.stored("orders")->released);
  EXPECT_TRUE(report.clean());
  EXPECT_LT(elapsedForHolder(asked, world.scheduler->now()), 1s) << "nobody waits for work that was told to end";
}

}  // namespace
}  // namespace tenure::test
