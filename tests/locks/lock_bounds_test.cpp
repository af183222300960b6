// Waits are bounds for any behaviour of the store: real time, with stores that do not answer.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/lock_client.hpp>
#include <tenure/lockcore/lock_tokens.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "lockcore/port/extended_store.hpp"
#include "support/eventually.hpp"
#include "support/lateness_probe.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds allowedExcess{100};

enum class Hang { nothing, schema, reads, acquisitions, releases, allFromAcquisition };

/// Carries out calls of the given kinds but does not answer them; it answers when it is destroyed.
class HangingStore final : public ForwardingStore {
 public:
  HangingStore() : ForwardingStore{makeMemoryStore()} {}

  std::atomic<Hang> hang{Hang::nothing};
  std::string onlyOf{};                     ///< if set, reads hang of this key alone; set it before the first call
  std::atomic<int> reads{0};                ///< those that were answered
  std::atomic<std::int64_t> slowWrites{0};  ///< milliseconds

  /// Answers the calls that it has kept, and from now on every call.
  void recover() {
    hang = Hang::nothing;
    stuck_ = false;
    std::vector<std::function<void()>> answers;
    {
      const std::lock_guard lock{mutex_};
      answers.swap(kept_);
    }
    for (const auto& answer : answers) answer();
  }

  void ensureSchema(CallOptions options, StatusHandler handler) override {
    behind_->ensureSchema(options, answering<StoreStatus>(Hang::schema, std::move(handler)));
  }
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    const Hang kind = onlyOf.empty() || onlyOf == key.name ? Hang::reads : Hang::nothing;
    behind_->read(key, options, answering<ReadOutcome>(kind, [this, handler](const ReadOutcome& found) {
                    handler(found);
                    ++reads;
                  }));
  }
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    const bool acquires = request.purpose == WriteRequest::Purpose::acquire;
    const bool releases = request.purpose == WriteRequest::Purpose::release;
    const Hang kind = acquires ? Hang::acquisitions : releases ? Hang::releases : Hang::nothing;
    auto send = [this, request = std::move(request), options,
                 handler = answering<WriteOutcome>(kind, std::move(handler))] {
      behind_->write(request, options, handler);
    };
    slowWrites > 0 ? static_cast<void>(sharedScheduler()->schedule(milliseconds{slowWrites}, std::move(send))) : send();
  }

  /// Whether somebody holds the lock; this read never hangs.
  [[nodiscard]] bool isHeld(const LeaseKey& key) {
    const auto record = recordOf(key);
    return record && !record->released;
  }
  /// Somebody has acquired it, and may have released it since.
  [[nodiscard]] bool wasAcquired(const LeaseKey& key) { return recordOf(key).has_value(); }

 private:
  [[nodiscard]] std::optional<LeaseRecord> recordOf(const LeaseKey& key) {
    std::promise<std::optional<LeaseRecord>> record;
    behind_->read(key, {10s}, [&](const ReadOutcome& found) { record.set_value(*found); });
    return record.get_future().get();
  }
  [[nodiscard]] bool hangs(Hang kind) {
    const Hang mode = hang;
    if (mode == Hang::allFromAcquisition) return stuck_ = stuck_ || kind == Hang::acquisitions;
    return kind != Hang::nothing && mode == kind;
  }
  template <class Outcome>
  std::function<void(Outcome)> answering(Hang kind, std::function<void(Outcome)> handler) {
    if (!hangs(kind)) return handler;
    return [this, handler = std::move(handler)](Outcome outcome) {
      const std::lock_guard lock{mutex_};
      kept_.push_back([handler, outcome = std::move(outcome)] { handler(outcome); });
    };
  }

  std::atomic<bool> stuck_{false};
  std::mutex mutex_;
  std::vector<std::function<void()>> kept_{};  // guarded by mutex_
};

template <class Call>
nanoseconds timeOf(const Call& call) {
  const Instant from = readClock();
  call();
  return elapsedForHolder(from, readClock());
}

constexpr Eventually eventually{30s, 0s};

class LockBounds : public testing::Test {
 protected:
  ~LockBounds() override { store->recover(); }
  [[nodiscard]] static LockClientOptions leaseOf(milliseconds lease) {
    LockClientOptions options;
    options.lease.duration = lease;
    return options;
  }

  /// A wait is over at its end, or later by the machine's delay of two threads, one after the other.
  void expectWithin(milliseconds wait, nanoseconds took) const {
    EXPECT_LE(took, wait + allowedExcess + 2 * probe.worst());
  }

  const LatenessProbe probe;
  const std::shared_ptr<HangingStore> store{std::make_shared<HangingStore>()};
  const LeaseKey key{"orders"};
};

TEST_F(LockBounds, waitForIsABoundOverAStoreThatHangs) {
  constexpr int rounds = 1'000;
  constexpr int threads = 4;
  std::atomic<int> begun{0};
  std::atomic<std::int64_t> worst{0};  // by how many nanoseconds a call took longer than its wait
  LockClient client{store, leaseOf(60s)};
  client.acquire(key)->release();  // what a client does only once
  const auto work = [&] {
    for (int i = begun++; i < rounds; i = begun++) {
      store->hang = i % 2 == 0 ? Hang::reads : Hang::acquisitions;
      const milliseconds patience{1 + i % 10};
      const nanoseconds spent =
          timeOf([&] { static_cast<void>(client.acquire({"key/" + std::to_string(i)}, {.waitFor = patience})); });
      const nanoseconds excess = spent - patience;
      std::int64_t known = worst;
      while (known < excess.count() && !worst.compare_exchange_weak(known, excess.count())) {
      }
    }
  };
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(work);
  for (std::thread& one : all) one.join();
  RecordProperty("worst excess in us", std::to_string(worst / 1000));
  expectWithin(0ms, nanoseconds{worst.load()});
  store->recover();
}

TEST_F(LockBounds, theFirstLookAtTheSchemaIsPartOfTheWait) {
  store->hang = Hang::schema;
  LockClient client{store, leaseOf(60s)};
  LockErrc code{};
  expectWithin(500ms, timeOf([&] { code = client.acquire(key, {.waitFor = 500ms}).error().code; }));
  EXPECT_EQ(code, LockErrc::storeUnavailable);
}

TEST_F(LockBounds, aReleaseThatIsPendingIsPartOfTheWait) {
  LockClient client{store, leaseOf(60s)};
  LockResult<Lock> lock = client.acquire(key);
  store->hang = Hang::releases;
  EXPECT_EQ(lock->release({.waitFor = 0ms}), ReleaseResult::unknown);
  LockErrc code{};
  expectWithin(50ms, timeOf([&] { code = client.acquire(key, {.waitFor = 50ms}).error().code; }));
  EXPECT_EQ(code, LockErrc::timeout);
  store->recover();
}

TEST_F(LockBounds, cancelIsABoundWhileAReleaseIsPending) {
  LockClient client{store, leaseOf(60s)};
  LockResult<Lock> lock = client.acquire(key);
  store->hang = Hang::releases;
  static_cast<void>(lock->release({.waitFor = 0ms}));
  std::promise<LockErrc> told;
  std::stop_source cancel;
  client.acquireAsync(
      key, {}, [&](const LockResult<Lock>& result) { told.set_value(result.error().code); }, cancel.get_token());
  auto code = told.get_future();
  cancel.request_stop();
  ASSERT_EQ(code.wait_for(5s), std::future_status::ready);
  EXPECT_EQ(code.get(), LockErrc::cancelled);
  store->recover();
  EXPECT_TRUE(client.acquire(key, {.waitFor = 30s}).has_value()) << "who cancelled does not stand in the way";
}

/// What the wait left behind is reported, and is gone once the store answers again.
TEST_F(LockBounds, anAcquisitionThatWasLeftUnansweredIsToldAndReleased) {
  LockClient client{store, leaseOf(60s)};
  client.acquire({"warm"})->release();
  store->hang = Hang::acquisitions;
  LockResult<Lock> lock = client.acquire(key, {.waitFor = 500ms});
  ASSERT_TRUE(lock.has_error());
  EXPECT_EQ(toString(lock.error().code), "unknown") << lock.error().message;
  EXPECT_TRUE(store->isHeld(key)) << "it has landed";
  store->recover();
  EXPECT_TRUE(eventually([&] { return !store->isHeld(key); })) << "nobody released it";
  EXPECT_TRUE(client.acquire(key, {.waitFor = 30s}).has_value());
}

TEST_F(LockBounds, acquireAsyncKeepsToTheWaitToo) {
  LockClient client{store, leaseOf(60s)};
  client.acquire({"warm"})->release();
  store->hang = Hang::reads;
  std::promise<LockErrc> told;
  const Instant from = readClock();
  std::atomic<std::int64_t> spent{0};
  client.acquireAsync(key, {.waitFor = 500ms}, [&](const LockResult<Lock>& result) {
    spent = elapsedForHolder(from, readClock()).count();
    told.set_value(result.error().code);
  });
  EXPECT_EQ(told.get_future().get(), LockErrc::storeUnavailable);
  expectWithin(500ms, nanoseconds{spent.load()});
}

/// A single look takes as long as the store takes, but not as long as the lease.
TEST_F(LockBounds, oneLookEndsWhateverTheLease) {
  LockClient client{store, leaseOf(1h)};
  client.acquire({"warm"})->release();
  store->hang = Hang::reads;
  expectWithin(5s, timeOf([&] { EXPECT_TRUE(client.tryAcquire(key).has_error()); }));
}

class AcquireAllBounds : public LockBounds {
 protected:
  /// What the call says; it must keep to its wait.
  LockError refusedWithin(LockClient& client, std::vector<LeaseKey> keys, milliseconds wait) {
    LockError error;
    expectWithin(wait, timeOf([&] { error = client.acquireAll(std::move(keys), {.waitFor = wait}).error(); }));
    return error;
  }
  [[nodiscard]] static bool says(const LockError& error, const std::string& words) {
    return error.message.find(words) != std::string::npos;
  }

  LockClient rival{store, leaseOf(60s)};
};

TEST_F(AcquireAllBounds, aReleaseThatHangsIsNamedAndGoesOnBehindTheCall) {
  const Lock held = rival.acquire({"c"}).value();
  LockClient client{store, leaseOf(60s)};
  store->hang = Hang::releases;
  const LockError refused = refusedWithin(client, {{"b"}, {"c"}, {"a"}}, 500ms);
  EXPECT_EQ(refused.code, LockErrc::timeout) << refused.message;
  EXPECT_TRUE(says(refused, "lock c is held by") && says(refused, "not released yet") && says(refused, ": a, b"))
      << refused.message;
  EXPECT_TRUE(client.held().empty());
  store->recover();
  EXPECT_TRUE(eventually([&] { return !store->isHeld({"a"}) && !store->isHeld({"b"}); })) << "nobody released them";
  EXPECT_EQ(client.close().locks, decltype(CloseReport::locks){}) << "they had ended before";
}

TEST_F(AcquireAllBounds, closeWaitsForTheReleaseAsForAHeldLock) {
  const Lock held = rival.acquire({"b"}).value();
  LockClient client{store, leaseOf(60s)};
  store->hang = Hang::releases;
  EXPECT_TRUE(says(refusedWithin(client, {{"a"}, {"b"}}, 500ms), ": a"));
  std::thread later{[&] { store->recover(); }};
  const CloseReport report = client.close();
  later.join();
  const auto released = report.locks.find({"a"});  // not there: it had ended before
  EXPECT_TRUE(released == report.locks.end() || released->second == ReleaseResult::released);
  EXPECT_FALSE(store->isHeld({"a"}));
  LockClient second{store, leaseOf(1s)};
  store->hang = Hang::releases;
  EXPECT_TRUE(says(refusedWithin(second, {{"a"}, {"b"}}, 500ms), ": a"));
  expectWithin(2 * 1s + 1s, timeOf([&] { EXPECT_EQ(second.close().locks.at({"a"}), ReleaseResult::unknown); }));
  store->recover();
}

TEST_F(AcquireAllBounds, aReleaseThatIsAcknowledgedInTimeIsNotNamed) {
  const Lock held = rival.acquire({"b"}).value();
  LockClient client{store, leaseOf(60s)};
  // The answer has 25 ms after the end of the wait: a machine that stands still for longer needs more tries.
  EXPECT_TRUE(eventually([&] { return !says(refusedWithin(client, {{"a"}, {"b"}}, 100ms), "released"); }));
  EXPECT_FALSE(store->isHeld({"a"}));
  EXPECT_EQ(client.acquireAll({{"a"}, {"d"}, {"b"}}, {.waitFor = 0ms}).error().code, LockErrc::held);
}

/// A rest of less than a millisecond is no single attempt, which would have time of its own.
TEST_F(AcquireAllBounds, aWriteThatIsAnsweredAtTheLastInstantLeavesNoFurtherAttempt) {
  LockClient client{store, leaseOf(60s)};
  client.acquire({"warm"})->release();
  store->onlyOf = "b";
  store->hang = Hang::reads;
  for (const int write : {80, 90, 95, 96, 97, 98, 99, 100}) {
    store->slowWrites = write;
    const LockError refused = refusedWithin(client, {{"a" + std::to_string(write)}, {"b"}}, 100ms);
    EXPECT_TRUE(refused.code == LockErrc::timeout || refused.code == LockErrc::storeUnavailable ||
                refused.code == LockErrc::unknown)
        << toString(refused.code) << ' ' << refused.message;
  }
  store->slowWrites = 0;
}

TEST_F(LockBounds, theWaitOfALockTokenIsABoundToo) {
  LockTokens tokens{store};
  TokenAcquireOptions options;
  options.lease = 60s;
  options.waitFor = 500ms;
  for (const Hang kind : {Hang::reads, Hang::allFromAcquisition}) {
    store->hang = kind;
    const LeaseKey one{kind == Hang::reads ? "read" : "acquired"};
    LockErrc code{};
    expectWithin(500ms, timeOf([&] { code = tokens.acquire(one, options).error().code; }));
    EXPECT_EQ(code, kind == Hang::reads ? LockErrc::storeUnavailable : LockErrc::unknown);
  }
  EXPECT_TRUE(store->wasAcquired({"acquired"})) << "it has landed";
  store->recover();
  EXPECT_TRUE(eventually([&] { return !store->isHeld({"acquired"}); })) << "nobody took it back";
}

/// The end of the wait interrupts a read. That is no fault of the store: an earlier read has shown the holder.
TEST_F(LockBounds, theEndOfTheWaitIsNotTheStoresError) {
  LockTokens tokens{store};
  TokenAcquireOptions options;
  options.lease = 60s;
  const LockToken held = tokens.acquire(key, options).value();
  const int before = store->reads;
  std::thread afterTheFirstLook{[&] {
    EXPECT_TRUE(eventually([&] { return store->reads > before; }));
    store->hang = Hang::reads;
    EXPECT_TRUE(tokens.renew(held)) << "its hint makes the candidate look again";
  }};
  options.waitFor = 200ms;
  EXPECT_EQ(tokens.acquire(key, options).error().code, LockErrc::held);
  afterTheFirstLook.join();
}

}  // namespace
}  // namespace tenure::test
