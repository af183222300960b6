// Acquisitions that meet errors of the store or bad options, and those that are cancelled.
#include <tenure/lockcore/fence.hpp>
#include <tenure/lockcore/lock_tokens.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "lockcore/lock_acquire.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// What could end a line, steer a terminal, or turn the direction of writing.
const std::string steering = "x\x1b[2J\r\n\x7f\xC2\x9b\xE2\x80\xAE\xFFy";
const std::string escaped = R"(x\x1b[2J\x0d\n\x7f\u009b\u202e\xffy)";

/// Its answers hold what others wrote, as those of a server may.
class SteeringStore final : public ForwardingStore {
 public:
  explicit SteeringStore(std::shared_ptr<LeaseStore> behind) : ForwardingStore{std::move(behind)} {}

  void ensureSchema(CallOptions, StatusHandler handler) override { handler(error()); }
  void read(const LeaseKey&, CallOptions, ReadHandler handler) override {
    if (throws) throw std::runtime_error{steering};
    handler(error());
  }
  void write(WriteRequest, CallOptions, WriteHandler handler) override { handler(Rejected{error()}); }
  void list(std::string, CallOptions, ListHandler handler) override { handler(error()); }
  void listPage(std::string, std::string, CallOptions, PageHandler handler) override {
    handler(ListPage{{{{"k"}, error()}}});
  }
  bool throws{false};

 private:
  [[nodiscard]] static StoreError error() { return {ErrorClass::misconfigured, steering}; }
};

template <class Result>
void expectEscaped(const Result& result, const char* what) {
  ASSERT_TRUE(result.has_error()) << what;
  EXPECT_EQ(shown(result.error().message), result.error().message) << what;
  EXPECT_NE(result.error().message.find(escaped), std::string::npos) << what << ": " << result.error().message;
}

TEST(LockErrorText, escapesWhatAStoreSays) {
  const auto store = std::make_shared<SteeringStore>(makeMemoryStore());
  for (const bool throws : {false, true}) {
    store->throws = throws;
    LockClient client{store, {.lease = {.duration = 1s}}};
    const auto refused = client.tryAcquire({"k"});
    expectEscaped(refused, "tryAcquire");
    expectEscaped(LockResult<void>{LockError{LockErrc::held, refused.error().store->message}}, "its store's error");
    expectEscaped(client.peek({"k"}), "peek");
    LockTokens tokens{store};
    expectEscaped(tokens.acquire({"k"}, {.lease = 1s, .waitFor = 0ms}), "LockTokens::acquire");
    expectEscaped(tokens.resume({"k"}, steering), "LockTokens::resume");
  }
  LockClient client{store, {.lease = {.duration = 1s}}};
  expectEscaped(client.list("k"), "list");
  std::string row;
  EXPECT_TRUE(client.scan("k", [&](const LeaseView& view) { return row = view.error()->message, true; }).has_value());
  EXPECT_EQ(row, escaped);
  const StoreResult<int> plain{StoreError{ErrorClass::transient, steering}};
  try {
    static_cast<void>(plain.value());
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(error.what(), escaped);
  }
  EXPECT_EQ(fenceError({ErrorClass::transient, steering}).message, escaped);
}

TEST(LockErrorText, escapesTheNamesOfHolders) {
  const auto store = makeMemoryStore();
  const auto put = [&](bool released, const RecordVersion& expected, const char* version) {
    WriteRequest request{{"k"}, WriteRequest::Purpose::acquire, {}, {}};
    if (!expected.text().empty()) request.expected = {expected};
    request.record.holder = steering.substr(0, steering.size() - 2) + "y#" + steering.substr(1, 7);
    request.record.version = RecordVersion{version};
    request.record.leaseDuration = 60s;
    request.record.released = released;
    store->write(std::move(request), {}, [](const WriteOutcome& outcome) { EXPECT_EQ(outcome.index(), 0U); });
  };
  LockTokens tokens{store};
  const LockToken mine = tokens.acquire({"k"}, {}).value();
  put(false, mine.version(), "v1");
  LockClient client{store};
  const auto expectPlain = [](const auto& result, const char* what) {
    ASSERT_TRUE(result.has_error()) << what;
    EXPECT_EQ(shown(result.error().message), result.error().message) << what;
    EXPECT_NE(result.error().message.find(R"(x\x1b[2J)"), std::string::npos) << what << ": " << result.error().message;
  };
  expectPlain(client.tryAcquire({"k"}), "held");
  expectPlain(client.acquire({"k"}, {.waitFor = 50ms}), "timeout");
  expectPlain(tokens.acquire({"k"}, {.lease = 1s, .waitFor = 0ms}), "held, of tokens");
  expectPlain(tokens.renew(mine), "lost");
  expectPlain(tokens.resume({"k"}, steering), "not by");
  put(true, RecordVersion{"v1"}, "v2");
  expectPlain(tokens.renew(mine), "taken and released");
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

TEST_F(LockAcquire, nothingIsRenewedAfterARejection) {
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
