// Acquisitions that meet errors of the store or bad options, and those that are cancelled.
#include "lockcore/lock_acquire.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

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

}  // namespace
}  // namespace tenure::test
