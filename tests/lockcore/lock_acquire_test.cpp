// How locks are acquired and released, on a manual clock. The cases name the rows of the predecessors' features.
#include <gtest/gtest.h>

#include <tenure/lockcore/candidate_id.hpp>

#include "lockcore/lock_world.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

class LockAcquire : public testing::Test {
 protected:
  LockWorld world;
  std::unique_ptr<LockClient> a{world.makeClient("a")};
  std::unique_ptr<LockClient> b{world.makeClient("b")};

  void TearDown() override {
    // Clients wait for their locks' releases in real time, and nobody would run the scheduler then.
    for (auto* client : {&a, &b}) {
      if (*client) world.blocking([&] { return (*client)->close(); });
    }
  }
};

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

TEST_F(LockAcquire, aLostReplyOfTheAcquiringWriteDoesNotCostTheLock) {
  world.store->failAt(2, Fault::unknownApplied);  // read, acquire
  Lock lock = world.acquireNow(*a, "orders");
  EXPECT_TRUE(lock.isHeld());
  EXPECT_EQ(lock.fencingToken(), FencingToken{1});
  world.release(lock);
}

TEST_F(LockAcquire, errorsAreNeverASuccessAndAreTyped) {
  const std::vector<std::pair<ErrorClass, LockErrc>> codes{{ErrorClass::transient, LockErrc::storeUnavailable},
                                                           {ErrorClass::throttled, LockErrc::storeUnavailable},
                                                           {ErrorClass::credentials, LockErrc::accessDenied},
                                                           {ErrorClass::misconfigured, LockErrc::storeMisconfigured},
                                                           {ErrorClass::corrupt, LockErrc::recordCorrupt}};
  for (const auto& [errorClass, code] : codes) {
    for (const std::size_t call : {1U, 2U}) {
      world.store->failAt(world.store->calls() + call, Fault::rejected, errorClass);
      const LockResult<Lock> refused = world.tryNow(*a, "k" + std::string{toString(code)} + std::to_string(call));
      ASSERT_TRUE(refused.has_error());
      EXPECT_EQ(refused.error().code, code);
      EXPECT_TRUE(refused.error().store);
    }
  }
}

TEST_F(LockAcquire, errorsThatPassAreRetriedInTheCallersTime) {
  for (std::size_t call = 1; call <= 3; ++call) world.store->failAt(call, Fault::rejected, ErrorClass::throttled);
  const auto outcome = world.begin(*a, "orders", {.waitFor = 1min});
  world.pass(55s);
  ASSERT_TRUE(*outcome);
  EXPECT_TRUE((*outcome)->has_value());
}

TEST_F(LockAcquire, nothingIsRenewedAfterARefusal) {
  const Lock held = world.acquireNow(*a, "orders", {.manualHeartbeat = true});
  const LockResult<Lock> refused = world.tryNow(*b, "orders");
  const std::size_t before = world.store->calls();
  world.pass(8s);
  EXPECT_EQ(world.store->calls(), before);
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

TEST_F(LockAcquire, badOptionsAreRefusedWholeBeforeAnyRequest) {
  const std::size_t before = world.store->calls();
  const LockResult<Lock> refused = world.tryNow(
      *a, "", {.lease = 0ms, .heartbeat = 10h, .manualHeartbeat = true, .poll = 1ms, .attributes = {{"", "x"}}});
  ASSERT_EQ(refused.error().code, LockErrc::invalidOptions);
  std::vector<std::string> fields;
  for (const OptionFault& fault : refused.error().faults) fields.push_back(fault.field);
  EXPECT_EQ(fields, (std::vector<std::string>{"key", "lease.duration", "poll", "heartbeat", "attributes"}));
  for (const OptionFault& fault : refused.error().faults) {
    EXPECT_NE(refused.error().message.find(fault.message), std::string::npos);
  }
  EXPECT_EQ(world.tryNow(*a, "x", {.lease = -5ms}).error().code, LockErrc::invalidOptions);
  EXPECT_EQ(world.tryNow(*a, "x", {.lease = 30s, .heartbeat = 30s}).error().code, LockErrc::invalidOptions);
  EXPECT_EQ(world.tryNow(*a, std::string(3000, 'x')).error().code, LockErrc::invalidOptions);
  EXPECT_EQ(world.begin(*a, "x", {.waitFor = -1ms})->value().error().code, LockErrc::invalidOptions);
  EXPECT_EQ(world.store->calls(), before);
}

TEST_F(LockAcquire, eachAcquisitionBringsItsOwnLease) {
  Lock lock = world.acquireNow(*a, "orders", {.lease = 30s});
  EXPECT_EQ(world.stored("orders")->leaseDuration, 30s);
  EXPECT_EQ(lock.lease(), 30s);
  const RecordVersion first = world.stored("orders")->version;
  world.pass(9s);
  EXPECT_EQ(world.stored("orders")->version, first) << "its heartbeat is a third of it";
  world.pass(1100ms);
  EXPECT_NE(world.stored("orders")->version, first);
}

TEST_F(LockAcquire, acquisitionsCanBeCancelled) {
  const Lock held = world.acquireNow(*a, "orders", {.manualHeartbeat = true});
  const auto waiting = world.begin(*b, "orders");
  world.pass(1s);
  EXPECT_FALSE(*waiting);
  world.pending.request_stop();
  world.settle();
  ASSERT_TRUE(*waiting);
  EXPECT_EQ((*waiting)->error().code, LockErrc::cancelled);
  const std::size_t before = world.store->calls();
  world.pass(2s);
  EXPECT_EQ(world.store->calls(), before);
}

TEST_F(LockAcquire, anAcquisitionThatWasCancelledBeforeItBeganAcquiresNothing) {
  std::stop_source cancel;
  cancel.request_stop();
  std::optional<LockErrc> code;
  a->acquireAsync(
      {"orders"}, {}, [&](const LockResult<Lock>& result) { code = result.error().code; }, cancel.get_token());
  EXPECT_FALSE(code) << "never inside the call";
  world.settle();
  EXPECT_EQ(code, LockErrc::cancelled);
  world.pass(1s);
  EXPECT_FALSE(world.stored("orders"));
}

TEST_F(LockAcquire, aLockThatIsWonIsNotCancelledAnyMore) {
  const auto won = world.begin(*a, "orders");
  world.pass(1s);
  ASSERT_TRUE(*won && (*won)->has_value());
  world.pending.request_stop();
  world.pass(1s);
  EXPECT_TRUE((**won)->isHeld());
  world.release(***won);
}

TEST_F(LockAcquire, aCancelledAcquisitionThatWonAllTheSameIsReleased) {
  world.store->failAt(2, Fault::neverApplied);  // the acquiring write
  const auto waiting = world.begin(*a, "orders");
  world.pending.request_stop();
  world.settle();
  EXPECT_EQ((*waiting)->error().code, LockErrc::cancelled);
  world.pass(12s);
  EXPECT_TRUE(world.stored("orders")->released);
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

TEST_F(LockAcquire, aLockThatWasReleasedByThisClientAndTakenByAnotherIsNotTakenBlindly) {
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
