// How locks are acquired, on a manual clock. The cases name the rows of the predecessors' features.
#include "lockcore/lock_acquire.hpp"

#include <tenure/lockcore/candidate_id.hpp>

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

TEST_F(LockAcquire, aFreeLockIsAcquiredAtOnceAndReleased) {
  LockResult<Lock> lock = world.tryNow(*a, "orders");
  ASSERT_TRUE(lock.has_value()) << lock.error().message;
  EXPECT_TRUE(lock->isHeld());
  EXPECT_TRUE(lock->isValid());
  EXPECT_EQ(lock->fencingToken(), FencingToken{1});
  EXPECT_EQ(lock->key(), LeaseKey{"orders"});
  EXPECT_EQ(lock->lease(), 10s);
  EXPECT_TRUE(a->holds({"orders"}));
  EXPECT_EQ(world.stored("orders")->holder, a->candidate());
  EXPECT_FALSE(world.stored("orders")->released);
  EXPECT_EQ(world.release(*lock), ReleaseResult::released);
  EXPECT_FALSE(lock->isHeld());
  EXPECT_TRUE(world.stored("orders")->released);
  EXPECT_FALSE(a->holds({"orders"}));
}

TEST_F(LockAcquire, heldByAnotherNamesOwnerAndAgeInOneRead) {
  const Lock held = world.acquireNow(*a, "orders");
  const std::size_t before = world.store->calls();
  const LockResult<Lock> refused = world.tryNow(*b, "orders");
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().code, LockErrc::held);
  ASSERT_TRUE(refused.error().holder);
  EXPECT_EQ(refused.error().holder->holder, a->candidate());
  EXPECT_EQ(refused.error().holder->token, FencingToken{1});
  EXPECT_EQ(refused.error().holder->lease, 10s);
  EXPECT_GT(refused.error().holder->acquiredAtMillis, 0);
  EXPECT_NE(refused.error().message.find("orders"), std::string::npos);
  EXPECT_NE(refused.error().message.find(personOf(a->candidate())), std::string::npos);
  EXPECT_EQ(world.store->calls() - before, 1U);
  EXPECT_EQ(world.stored("orders")->holder, a->candidate());
}

/// A caller that tries again as soon as it was refused is not refused because of its own earlier try.
TEST_F(LockAcquire, whoIsToldThatItIsHeldMayAskAgainAtOnce) {
  const Lock held = world.acquireNow(*a, "orders");
  Runtime runtime;
  runtime.scheduler = world.loop;
  runtime.executor = [](const std::function<void()>& task) { task(); };
  LockClient eager{world.store, {.candidate = "c", .lease = lockLease()}, std::move(runtime)};
  std::vector<LockErrc> told;
  std::function<void(LockResult<Lock>)> again = [&](const LockResult<Lock>& result) {
    told.push_back(result.error().code);
    if (told.size() < 3) eager.acquireAsync({"orders"}, {.waitFor = 0ms}, again);
  };
  eager.acquireAsync({"orders"}, {.waitFor = 0ms}, again);
  world.settle();
  EXPECT_EQ(told, std::vector<LockErrc>(3, LockErrc::held));
}

TEST_F(LockAcquire, absentReleasedHeldAndDeadGiveFourOutcomes) {
  {
    Lock first = world.acquireNow(*a, "absent");  // absent
    world.release(first);
  }
  Lock second = world.acquireNow(*b, "absent");  // released
  EXPECT_EQ(second.fencingToken(), FencingToken{2});
  EXPECT_EQ(world.tryNow(*a, "absent").error().code, LockErrc::held);
  const LeaseRecord dead = othersRecord("dead-1", 7);
  world.store->writeNow({{"dead"}, WriteRequest::Purpose::acquire, {}, dead, FencingToken{6}});
  EXPECT_EQ(world.tryNow(*a, "dead").error().code, LockErrc::held);  // not yet known to be dead
  world.pass(10s);
  Lock taken = world.acquireNow(*a, "dead");
  EXPECT_GT(taken.fencingToken(), FencingToken{7});
  world.release(taken);
  world.release(second);
}

TEST_F(LockAcquire, tryingOnceASecondWinsADeadHoldersLockAfterAboutOneLease) {
  world.store->writeNow({{"dead"}, WriteRequest::Purpose::acquire, {}, othersRecord(), FencingToken{}});
  std::optional<Lock> won;
  int tries = 0;
  for (; tries < 20 && !won; ++tries) {
    LockResult<Lock> lock = world.tryNow(*a, "dead");
    if (lock) {
      won.emplace(std::move(*lock));
    } else {
      EXPECT_EQ(lock.error().code, LockErrc::held);
      world.pass(980ms);
    }
  }
  ASSERT_TRUE(won);
  EXPECT_EQ(tries, 11);  // reads at 0 s, 1 s, ... 10 s
  world.release(*won);
}

TEST_F(LockAcquire, aHolderThatRenewsIsNeverTakenBetweenTwoTries) {
  const Lock held = world.acquireNow(*a, "orders");
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(world.tryNow(*b, "orders").error().code, LockErrc::held);
    world.pass(980ms);
  }
  EXPECT_TRUE(held.isHeld());
}

TEST_F(LockAcquire, whatIsRememberedIsBounded) {
  LockClientOptions options;
  options.lease = lockLease();
  options.remembered = 2;
  Runtime runtime;
  runtime.scheduler = world.loop;
  runtime.executor = [this](std::function<void()> task) { world.callbacks->post(std::move(task)); };
  LockClient small{world.store, options, std::move(runtime)};
  for (const char* key : {"x", "y", "z"}) {
    world.store->writeNow({{key}, WriteRequest::Purpose::acquire, {}, othersRecord(), FencingToken{}});
  }
  for (const char* key : {"x", "y", "z"}) EXPECT_EQ(world.tryNow(small, key).error().code, LockErrc::held);
  world.pass(10s);
  EXPECT_EQ(world.tryNow(small, "x").error().code, LockErrc::held) << "x was forgotten for z";
  Lock z = world.acquireNow(small, "z");
  world.release(z);
}

TEST_F(LockAcquire, waitsOutABoundedTimeAndNoLonger) {
  const Lock held = world.acquireNow(*a, "orders");
  const auto outcome = world.begin(*b, "orders", {.waitFor = 3s});
  world.pass(2990ms);
  EXPECT_FALSE(*outcome);
  world.pass(310ms);
  ASSERT_TRUE(*outcome);
  ASSERT_TRUE((*outcome)->has_error());
  EXPECT_EQ((*outcome)->error().code, LockErrc::timeout);
  EXPECT_EQ((*outcome)->error().holder->holder, a->candidate());
}

TEST_F(LockAcquire, isGrantedWithinTheWaitWhenTheHolderLetsGo) {
  Lock held = world.acquireNow(*a, "orders");
  const auto outcome = world.begin(*b, "orders", {.waitFor = 10s});
  world.pass(3s);
  EXPECT_FALSE(*outcome);
  world.release(held);
  world.pass(3500ms);  // this store sends no notifications: it is polled
  ASSERT_TRUE(*outcome);
  ASSERT_TRUE((*outcome)->has_value());
  EXPECT_EQ((**outcome)->fencingToken(), FencingToken{2});
}

TEST_F(LockAcquire, aHolderThatRenewsLateAndDiesIsStillSucceeded) {
  LeaseRecord dead = othersRecord("v-1", 5);
  world.store->writeNow({{"orders"}, WriteRequest::Purpose::acquire, {}, dead, FencingToken{}});
  const auto outcome = world.begin(*a, "orders");
  world.pass(9s);
  LeaseRecord late = dead;
  late.version = RecordVersion{"v-2"};
  world.store->writeNow({{"orders"}, WriteRequest::Purpose::renew, {dead.version}, late, FencingToken{}});
  world.pass(9900ms);
  EXPECT_FALSE(*outcome) << "S4-13: never before a whole lease without a renewal";
  world.pass(2s);
  ASSERT_TRUE(*outcome);
  EXPECT_TRUE((*outcome)->has_value());
}

TEST_F(LockAcquire, aSecondAcquisitionOfTheSameClientIsRefusedWithoutARequest) {
  const Lock held = world.acquireNow(*a, "orders");
  const std::size_t before = world.store->calls();
  const LockResult<Lock> second = world.tryNow(*a, "orders");
  EXPECT_EQ(second.error().code, LockErrc::heldBySelf);
  const auto waiting = world.begin(*a, "orders", {.waitFor = 5s});
  ASSERT_TRUE(*waiting) << "it must not wait for itself";
  EXPECT_EQ((*waiting)->error().code, LockErrc::heldBySelf);
  EXPECT_EQ(world.store->calls(), before);
  EXPECT_TRUE(held.isHeld());
}

TEST_F(LockAcquire, aSharedHandleKeepsTheLockUntilTheLastOneIsReleased) {
  Lock first = world.acquireNow(*a, "orders");
  Lock second = first.share().value();
  EXPECT_EQ(second.fencingToken(), first.fencingToken());
  EXPECT_EQ(world.release(first), ReleaseResult::shared);
  EXPECT_FALSE(first.isHeld());
  EXPECT_TRUE(second.isHeld());
  EXPECT_EQ(first.share().error().code, LockErrc::notHeld);
  EXPECT_FALSE(world.stored("orders")->released);
  EXPECT_EQ(world.release(second), ReleaseResult::released);
  EXPECT_EQ(world.release(first), ReleaseResult::shared);
}

TEST_F(LockAcquire, tokensRiseWithEachAcquisition) {
  FencingToken last{};
  for (int i = 0; i < 20; ++i) {
    Lock lock = world.acquireNow(*a, "orders");
    EXPECT_GT(lock.fencingToken(), last);
    last = lock.fencingToken();
    world.release(lock);
  }
}

TEST_F(LockAcquire, manyLocksAreHeldAtOnceAndAllAreRenewed) {
  std::vector<Lock> locks;
  for (int i = 0; i < 100; ++i) locks.push_back(world.acquireNow(*a, "n" + std::to_string(i)));
  world.pass(30s);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(locks[static_cast<std::size_t>(i)].isHeld());
    EXPECT_EQ(world.stored("n" + std::to_string(i))->token, FencingToken{1});
  }
  EXPECT_EQ(a->held().size(), 100U);
  for (Lock& lock : locks) world.release(lock);
  EXPECT_TRUE(a->held().empty());
}

TEST_F(LockAcquire, keysAreStructuredAndNeverGluedTogether) {
  const auto outcome = [&](const LeaseKey& key) {
    auto out = std::make_shared<std::optional<LockResult<Lock>>>();
    a->acquireAsync(key, {}, [out](LockResult<Lock> result) { out->emplace(std::move(result)); });
    world.settle();
    world.pass(20ms);
    return std::move(**out).value();
  };
  const Lock first = outcome({"ab", "c"});
  const Lock second = outcome({"a", "bc"});
  EXPECT_TRUE(a->holds({"ab", "c"}));
  EXPECT_FALSE(a->holds({"abc", ""}));
  world.pass(50s);
  EXPECT_TRUE(first.isHeld());
  EXPECT_TRUE(second.isHeld());
}

TEST_F(LockAcquire, mustExistMakesNoRecord) {
  const LockResult<Lock> refused = world.tryNow(*a, "orders", {.mustExist = true});
  EXPECT_EQ(refused.error().code, LockErrc::missing);
  const auto waiting = world.begin(*a, "orders", {.waitFor = 1h, .mustExist = true});
  ASSERT_TRUE(*waiting) << "it does not wait for a record to appear";
  EXPECT_EQ((*waiting)->error().code, LockErrc::missing);
  EXPECT_FALSE(world.stored("orders"));
  Lock maker = world.acquireNow(*b, "orders");
  world.release(maker);
  Lock lock = world.acquireNow(*a, "orders", {.mustExist = true});
  EXPECT_TRUE(lock.isHeld());
}

TEST_F(LockAcquire, dataIsReplacedOrKeptAndAttributesAreSeen) {
  Lock lock = world.acquireNow(*a, "orders", {.data = std::string{"x\0y", 3}, .attributes = {{"site", "berlin"}}});
  EXPECT_EQ(lock.data(), (std::string{"x\0y", 3}));
  EXPECT_EQ(lock.attributes(), (std::map<std::string, std::string>{{"site", "berlin"}}));
  EXPECT_EQ(world.stored("orders")->attributes.at("site"), "berlin");
  world.release(lock);
  Lock kept = world.acquireNow(*b, "orders", {.data = "mine", .replaceData = false});
  EXPECT_EQ(kept.data(), (std::string{"x\0y", 3}));
  EXPECT_EQ(world.stored("orders")->data, kept.data());
  EXPECT_EQ(kept.attributes().at("site"), "berlin");
  world.release(kept);
  Lock replaced = world.acquireNow(*a, "orders", {.data = "mine"});
  EXPECT_EQ(replaced.data(), "mine");
  EXPECT_EQ(world.stored("orders")->data, "mine");
  world.release(replaced);
  Lock cleared = world.acquireNow(*a, "orders", {.data = ""});
  EXPECT_EQ(world.stored("orders")->data, "");
  world.release(cleared);
}

}  // namespace
}  // namespace tenure::test
