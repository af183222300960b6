// What a handle of a lock can do: released, moved, left by an exception, forked, or used where it must not block.
#include <stdexcept>
#include <type_traits>

#include "lockcore/child_process.hpp"
#include "lockcore/lock_hold.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

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
  static_assert(!std::is_copy_constructible_v<Lock>);
  EXPECT_FALSE(Lock{}.isHeld()) << "one that was made without a client";
  static_assert(!MakesALock<LeaseView> && !MakesALock<LeaseKey> && !MakesALock<FencingToken>);
  static_assert(std::is_nothrow_move_constructible_v<Lock>);
  static_assert(std::is_move_constructible_v<LockClient> && !std::is_copy_constructible_v<LockClient>);
  EXPECT_EQ(AcquireOptions{}, AcquireOptions{}) << "J-74: options compare";
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

}  // namespace
}  // namespace tenure::test
