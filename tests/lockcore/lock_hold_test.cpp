// What a held lock reports and does, on a manual clock: renewals, changes, ends, callbacks, misuse.
#include <future>
#include <set>

#include <gtest/gtest.h>

#include <tenure/lockcore/candidate_id.hpp>

#include "lockcore/child_process.hpp"
#include "lockcore/lock_world.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

class LockHold : public testing::Test {
 protected:
  LockWorld world;
  std::unique_ptr<LockClient> a{world.makeClient("a")};
  std::unique_ptr<LockClient> b{world.makeClient("b")};

  void TearDown() override {
    for (auto* client : {&a, &b}) {
      if (*client) world.blocking([&] { return (*client)->close(); });
    }
  }

  /// An asynchronous renewal; it is decided without passing time unless the store fails.
  std::shared_ptr<std::optional<LockResult<void>>> renew(Lock& lock, RenewOptions options = {}) {
    auto outcome = std::make_shared<std::optional<LockResult<void>>>();
    lock.renewAsync(std::move(options), [outcome](LockResult<void> result) { outcome->emplace(std::move(result)); });
    world.settle();
    return outcome;
  }
  static bool isGood(const std::shared_ptr<std::optional<LockResult<void>>>& outcome) {
    return *outcome && (*outcome)->has_value();
  }
};

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

TEST_F(LockHold, misuse_releaseInsideACallbackHasTheResultThatIsKnown) {
  Lock lock = world.acquireNow(*a, "orders");
  std::optional<ReleaseResult> result;
  lock.onLost([&](const TermEnd&) { result = lock.release(); });
  world.scheduler->moveClocks({20s, 20s, 20s});
  world.settle();
  EXPECT_EQ(result, ReleaseResult::notHeld);
}

TEST_F(LockHold, misuse_useAfterRelease) {
  Lock lock = world.acquireNow(*a, "orders");
  world.release(lock);
  EXPECT_EQ(lock.renew().error().code, LockErrc::notHeld);
  EXPECT_EQ(lock.extend(1s).error().code, LockErrc::notHeld);
  EXPECT_EQ(lock.ensure(1s).error().code, LockErrc::notHeld);
  EXPECT_EQ(lock.setData("x").error().code, LockErrc::notHeld);
  EXPECT_EQ(lock.onExpiring(1s, [](auto) {}).error().code, LockErrc::notHeld);
  EXPECT_EQ(lock.share().error().code, LockErrc::notHeld);
  EXPECT_EQ(lock.remaining(), 0ns);
  EXPECT_EQ(lock.fencingToken(), FencingToken{1}) << "the number of the term stays, for log lines";
  int told = 0;
  lock.onLost([&](const TermEnd&) { ++told; });
  lock.renewAsync({},
                  [&](const LockResult<void>& result) { told += result.error().code == LockErrc::notHeld ? 10 : 1; });
  world.settle();
  EXPECT_EQ(told, 10);
}

TEST_F(LockHold, misuse_aMovedFromLockHoldsNothing) {
  Lock lock = world.acquireNow(*a, "orders");
  const Lock target = std::move(lock);
  // NOLINTBEGIN(bugprone-use-after-move): that is the test
  EXPECT_FALSE(lock.isHeld());
  EXPECT_FALSE(lock.isValid());
  EXPECT_EQ(lock.remaining(), 0ns);
  EXPECT_TRUE(lock.fencingToken().isNone());
  EXPECT_TRUE(lock.stopToken().stop_requested());
  EXPECT_EQ(lock.renew().error().code, LockErrc::notHeld);
  EXPECT_EQ(lock.key(), LeaseKey{});
  EXPECT_EQ(lock.holder(), "");
  EXPECT_EQ(lock.data(), "");
  EXPECT_TRUE(lock.attributes().empty());
  EXPECT_FALSE(lock.loss());
  lock.onLost([](const TermEnd&) {});
  lock.reportStaleToken(FencingToken{9});
  EXPECT_EQ(lock.release(), ReleaseResult::notHeld);
  // NOLINTEND(bugprone-use-after-move)
  EXPECT_TRUE(target.isHeld());
}

TEST_F(LockHold, misuse_movingOntoAHeldLockReleasesIt) {
  Lock first = world.acquireNow(*a, "first");
  Lock second = world.acquireNow(*a, "second");
  world.blocking([&] {
    first = std::move(second);
    return 0;
  });
  EXPECT_TRUE(world.stored("first")->released);
  EXPECT_FALSE(world.stored("second")->released);
  EXPECT_EQ(first.key(), LeaseKey{"second"});
}

TEST_F(LockHold, theDestructorReleasesHoweverTheScopeIsLeft) {
  static_assert(std::is_nothrow_destructible_v<Lock>);
  world.blocking([&] {
    try {
      const LockResult<Lock> lock = a->acquire({"orders"});
      if (lock->isHeld()) throw std::runtime_error{"leaves"};
    } catch (const std::runtime_error&) {
    }
    return 0;
  });
  EXPECT_TRUE(world.stored("orders")->released);
}

TEST_F(LockHold, withLockReleasesAndLetsThroughWhatTheBodyReturnsOrThrows) {
  const auto sum =
      world.blocking([&] { return a->withLock({"orders"}, [](const Lock& lock) { return lock.isHeld() ? 42 : 0; }); });
  EXPECT_EQ(sum.value(), 42);
  EXPECT_TRUE(world.stored("orders")->released);
  const auto nothing = world.blocking([&] { return a->withLock({"orders"}, [](const Lock&) {}); });
  EXPECT_TRUE(nothing.has_value());
  EXPECT_THROW(world.blocking([&] {
    return a->withLock({"orders"}, [](const Lock&) -> int { throw std::runtime_error{"from the body"}; });
  }),
               std::runtime_error);
  EXPECT_TRUE(world.stored("orders")->released);
  const Lock held = world.acquireNow(*b, "orders");
  bool ran = false;
  const auto refused =
      world.blocking([&] { return a->withLock({"orders"}, [&](const Lock&) { ran = true; }, {.waitFor = 0ms}); });
  EXPECT_EQ(refused.error().code, LockErrc::held);
  EXPECT_FALSE(ran);
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

TEST_F(LockHold, peekShowsWithoutAnyPower) {
  const auto look = [&](const char* key) { return world.blocking([&, key] { return b->peek({key}); }).value(); };
  EXPECT_EQ(look("orders").state(), LeaseViewState::absent);
  Lock lock = world.acquireNow(*a, "orders", {.data = "d", .attributes = {{"x", "y"}}});
  const LeaseView held = look("orders");
  EXPECT_TRUE(held.isHeld());
  EXPECT_EQ(held.holder(), a->candidate());
  EXPECT_EQ(held.termNumber(), 1U);
  EXPECT_EQ(held.version(), world.stored("orders")->version.text()) << "J-77";
  EXPECT_EQ(held.lease(), 10s);
  EXPECT_EQ(held.data(), "d");
  EXPECT_EQ(held.attributes().at("x"), "y");
  world.release(lock);
  EXPECT_EQ(look("orders").state(), LeaseViewState::released);
  EXPECT_EQ(look("orders").holder(), a->candidate());
}

template <class T>
concept CanRelease = requires(T view) {
  view.release();
};
template <class T>
concept CanRenew = requires(T view) {
  view.renew();
};
template <class T>
concept HasToken = requires(T view) {
  view.fencingToken();
};
template <class T>
concept MakesALock = requires(T view) {
  Lock{view};
};

TEST(LockTypes, aViewHasNoPowerAndNobodyMakesALock) {
  static_assert(CanRelease<Lock&> && CanRenew<Lock&> && HasToken<Lock&>);
  static_assert(!CanRelease<LeaseView&> && !CanRenew<LeaseView&> && !HasToken<LeaseView&>);
  static_assert(!CanRelease<LeaseObserver&> && !CanRenew<LeaseObserver&> && !HasToken<LeaseObserver&>);
  static_assert(!std::is_default_constructible_v<Lock> && !std::is_copy_constructible_v<Lock>);
  static_assert(!MakesALock<LeaseView> && !MakesALock<LeaseKey> && !MakesALock<FencingToken>);
  static_assert(std::is_nothrow_move_constructible_v<Lock>);
  static_assert(std::is_move_constructible_v<LockClient> && !std::is_copy_constructible_v<LockClient>);
  EXPECT_EQ(AcquireOptions{}, AcquireOptions{}) << "J-74: options compare";
}

TEST_F(LockHold, listShowsEachLeaseUnderAPrefix) {
  std::vector<Lock> locks;
  for (const char* key : {"shop/1", "shop/2", "shop/3", "bank/1"}) locks.push_back(world.acquireNow(*a, key));
  const auto all = world.blocking([&] { return b->list("shop/"); }).value();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].key().name, "shop/1");
  EXPECT_TRUE(all[0].isHeld());
  EXPECT_EQ(world.blocking([&] { return b->list(""); })->size(), 4U);
  for (Lock& lock : locks) world.release(lock);
}

TEST_F(LockHold, observeFollowsHoldersAndNeverCompetes) {
  std::vector<std::string> seen;
  const LeaseObserver observer = b->observe({"orders"}, [&](const std::optional<LeaderInfo>& holder) {
                                    seen.push_back(holder ? holder->holder : "nobody");
                                  }).value();
  world.pass(20s);
  Lock lock = world.acquireNow(*a, "orders");
  world.pass(4s);
  EXPECT_EQ(observer.holder()->holder, a->candidate());
  world.release(lock);
  world.pass(30s);
  EXPECT_EQ(seen, (std::vector<std::string>{"nobody", a->candidate(), "nobody"}));
  EXPECT_TRUE(world.stored("orders")->released) << "nobody took it";
  EXPECT_FALSE(b->holds({"orders"}));
}

TEST_F(LockHold, acquireAllTakesAllOrNone) {
  auto all = world.blocking([&] { return a->acquireAll({{"c"}, {"a"}, {"b"}}); });
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ((*all)[0].key().name, "c");
  EXPECT_EQ((*all)[1].key().name, "a");
  EXPECT_EQ((*all)[2].key().name, "b");
  EXPECT_LT(world.stored("a")->acquiredAtMillis, world.stored("c")->acquiredAtMillis + 1) << "in the order of the keys";
  const Lock single = world.acquireNow(*b, "x2");
  const auto refused = world.blocking([&] { return a->acquireAll({{"x3"}, {"x2"}, {"x1"}}, {.waitFor = 500ms}); });
  EXPECT_EQ(refused.error().code, LockErrc::timeout);
  EXPECT_TRUE(world.stored("x1")->released);
  EXPECT_FALSE(world.stored("x3")) << "the order of the keys: it was not come to";
  const auto twice = a->acquireAll({{"y"}, {"z"}, {"y"}});
  EXPECT_EQ(twice.error().code, LockErrc::invalidOptions);
  EXPECT_FALSE(world.stored("y"));
  world.blocking([&] {
    all->clear();
    return 0;
  });
}

TEST_F(LockHold, twoThatWantTheSameTwoLocksCrosswiseBothReturn) {
  auto first = std::async(std::launch::async, [&] {
    return a->acquireAll({{"p"}, {"q"}}, {.waitFor = 2s}).has_value();
  });
  auto second = std::async(std::launch::async, [&] {
    return b->acquireAll({{"q"}, {"p"}}, {.waitFor = 2s}).has_value();
  });
  const bool one = world.blocking([&] { return first.get(); });
  const bool two = world.blocking([&] { return second.get(); });
  EXPECT_TRUE(one || two);
}

TEST_F(LockHold, closeReleasesAllAndGoesOnAfterAnError) {
  std::vector<Lock> locks;
  for (const char* key : {"one", "two", "three"}) locks.push_back(world.acquireNow(*a, key));
  std::vector<RevokeReason> told;
  for (Lock& lock : locks) lock.onLost([&](const TermEnd& loss) { told.push_back(loss.reason); });
  for (std::size_t i = 1; i <= 1; ++i) world.store->failAt(world.store->calls() + i, Fault::throws);
  const CloseReport report = world.blocking([&] { return a->close(); });
  ASSERT_EQ(report.locks.size(), 3U);
  for (const auto& [key, result] : report.locks) EXPECT_EQ(result, ReleaseResult::released) << key.name;
  EXPECT_TRUE(report.clean());
  EXPECT_EQ(told, (std::vector<RevokeReason>(3, RevokeReason::stopped))) << "S2-26";
  for (const char* key : {"one", "two", "three"}) EXPECT_TRUE(world.stored(key)->released);
  for (const Lock& lock : locks) EXPECT_FALSE(lock.isHeld());
  EXPECT_EQ(world.blocking([&] { return a->close(); }).locks.size(), 3U) << "again: the same report";
  EXPECT_EQ(world.begin(*a, "four")->value().error().code, LockErrc::closed) << "S2-27";
}

TEST_F(LockHold, theReleaseAtCloseWaitsForWhatTheWorkWasTold) {
  Lock lock = world.acquireNow(*a, "orders");
  bool releasedTooEarly = true;
  lock.onLost([&](const TermEnd&) { releasedTooEarly = world.stored("orders")->released; });
  world.blocking([&] { return a->close(); });
  EXPECT_FALSE(releasedTooEarly);
  EXPECT_TRUE(world.stored("orders")->released);
}

TEST_F(LockHold, misuse_destroyingAClientWithHeldLocksReleasesThem) {
  Lock lock = world.acquireNow(*a, "orders");
  const auto waiting = world.begin(*a, "busy", {.waitFor = 0ms});
  world.blocking([&] {
    a.reset();
    return 0;
  });
  EXPECT_TRUE(world.stored("orders")->released);
  EXPECT_FALSE(lock.isHeld());
  EXPECT_EQ(lock.loss()->reason, RevokeReason::stopped);
  EXPECT_EQ(lock.renew().error().code, LockErrc::lost);
  EXPECT_EQ(lock.release(), ReleaseResult::released);
}

/// The program stopped its loop first: nothing is written any more, although the clock says that the lease still runs.
TEST_F(LockHold, nothingIsHeldOnceItsClientIsGoneThoughItsLoopStandsStill) {
  const Lock lock = world.acquireNow(*a, "orders");
  a.reset();
  EXPECT_TRUE(lock.isValid());
  EXPECT_FALSE(lock.isHeld());
  EXPECT_EQ(lock.remaining(), 0ns);
  ASSERT_TRUE(lock.loss());
  EXPECT_EQ(lock.loss()->reason, RevokeReason::stopped);
}

TEST_F(LockHold, misuse_blockingCallsOnTheOwnSchedulerAreRefused) {
  Lock lock = world.acquireNow(*a, "orders");
  std::vector<LockErrc> codes;
  world.scheduler->post([&] {
    codes.push_back(a->acquire({"other"}).error().code);
    codes.push_back(lock.renew().error().code);
    codes.push_back(a->peek({"orders"}).error().code);
    EXPECT_EQ(lock.release(), ReleaseResult::unknown);
  });
  world.settle();
  EXPECT_EQ(codes, (std::vector<LockErrc>(3, LockErrc::wouldBlock)));
  EXPECT_EQ(lock.release(), ReleaseResult::released);
}

TEST_F(LockHold, misuse_aForkedChildHoldsNothingAndItsParentGoesOn) {
  Lock lock = world.acquireNow(*a, "orders");
  const int child = inChild([&] {
    if (lock.isHeld() || lock.isValid() || a->holds({"orders"}) || !a->held().empty()) return 1;
    if (lock.renew().error().code != LockErrc::forked) return 2;
    if (a->acquire({"other"}).error().code != LockErrc::forked) return 3;
    if (a->peek({"orders"}).error().code != LockErrc::forked) return 4;
    if (lock.release() != ReleaseResult::notHeld) return 5;
    { const Lock gone = std::move(lock); }
    a.reset();
    return 0;
  });
  EXPECT_EQ(child, 0);
  EXPECT_TRUE(lock.isHeld());
  world.pass(20s);
  EXPECT_TRUE(lock.isHeld());
  EXPECT_FALSE(world.stored("orders")->released);
}

TEST_F(LockHold, anOperatorsRequestToStepDownIsToldAndTheHandleIsStillToBeReleased) {
  Lock lock = world.acquireNow(*a, "orders");
  world.store->requestStepDownNow({"orders"}, lock.fencingToken());
  world.pass(3200ms);
  EXPECT_FALSE(lock.isHeld());
  EXPECT_TRUE(lock.isValid()) << "it is renewed while the work winds up";
  EXPECT_EQ(lock.loss()->reason, RevokeReason::steppedDown);
  EXPECT_EQ(world.tryNow(*a, "orders").error().code, LockErrc::heldBySelf);
  EXPECT_EQ(world.release(lock), ReleaseResult::released);
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

TEST(LockClientOptions, badOptionsAreToldTogether) {
  LockClientOptions options;
  options.candidate = "a#b";
  options.lease.duration = 1ms;
  options.remembered = 2'000'000;
  try {
    const LockClient client{nullptr, options};
    FAIL() << "it must throw";
  } catch (const std::invalid_argument& error) {
    const std::string what = error.what();
    for (const char* key : {"candidate:", "lease.duration:", "remembered:", "store:"}) {
      EXPECT_NE(what.find(key), std::string::npos) << key;
    }
  }
}

}  // namespace
}  // namespace tenure::test
