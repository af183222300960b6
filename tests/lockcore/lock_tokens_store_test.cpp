// Lock tokens over a store that breaks its contract (it throws, or answers twice), and over one whose table is missing.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/lock_client.hpp>
#include <tenure/lockcore/lock_tokens.hpp>
#include <tenure/lockcore/runtime.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "support/polled_store.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

class UnrulyStore final : public PolledStore {
 public:
  UnrulyStore() : PolledStore{makeMemoryStore()} {}

  enum class Manner { keepsItsContract, throws, answersTwice };
  Manner manner{Manner::keepsItsContract};
  std::string description{"unruly"};
  std::function<void()> whileItReads{};
  std::function<void()> whileItWrites{};
  bool lastReadMayBeLate{false};
  std::optional<std::chrono::nanoseconds> lastWritesTime{};
  std::atomic<bool> throwsOnceApplied{false};  ///< the next write throws, and is applied all the same

  [[nodiscard]] std::string describe() const override { return description; }
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    lastReadMayBeLate = options.mayBeLate;
    behind_->read(key, options, misbehaving(std::move(handler)));
    if (whileItReads) whileItReads();
  }
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    lastWritesTime = options.timeout;
    if (!throwsOnceApplied.exchange(false)) {
      behind_->write(std::move(request), options, misbehaving(std::move(handler)));
      if (whileItWrites) whileItWrites();
      return;
    }
    behind_->write(std::move(request), options, [](const WriteOutcome&) {});
    throw std::runtime_error{"a fault of the store's"};
  }

 private:
  template <class Handler>
  [[nodiscard]] Handler misbehaving(Handler handler) const {
    if (manner == Manner::throws) throw std::runtime_error{"a fault of the store's"};
    if (manner == Manner::keepsItsContract) return handler;
    return [handler](auto outcome) {
      handler(outcome);
      handler(outcome);
    };
  }
};

TEST(LockTokensOverAnUnrulyStore, aSecondAnswerChangesNothing) {
  const auto store = std::make_shared<UnrulyStore>();
  store->manner = UnrulyStore::Manner::answersTwice;
  LockTokens tokens{store};
  const auto token = tokens.acquire({"orders"}, {});
  ASSERT_TRUE(token.has_value()) << token.error().message;
  EXPECT_TRUE(tokens.check(*token).has_value());
  EXPECT_TRUE(tokens.renew(*token).has_value());
}

TEST(LockTokensOverAnUnrulyStore, aLongDescriptionIsCutSoThatTheTextOfATokenCanBeRead) {
  const auto store = std::make_shared<UnrulyStore>();
  for (int i = 0; i < 20'000; ++i) store->description += "\u00e4";
  const LockToken token = LockTokens{store}.acquire({"orders"}, {}).value();
  EXPECT_LE(token.store().size(), 1024U);
  EXPECT_EQ(token.store().substr(0, 100), store->description.substr(0, 100));
  const auto read = LockToken::from(token.text());
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(*read, token);
}

TEST(LockTokensOverAnUnrulyStore, whatItThrowsIsAnError) {
  const auto store = std::make_shared<UnrulyStore>();
  LockTokens tokens{store};
  const auto token = tokens.acquire({"orders"}, {});
  ASSERT_TRUE(token.has_value()) << token.error().message;
  store->manner = UnrulyStore::Manner::throws;
  const auto renewed = tokens.renew(*token);
  ASSERT_TRUE(renewed.has_error());
  EXPECT_NE(renewed.error().message.find("a fault of the store's"), std::string::npos) << renewed.error().message;
  TokenAcquireOptions once;
  once.waitFor = 100ms;
  EXPECT_TRUE(tokens.acquire({"invoices"}, once).has_error());
}

/// Nobody has taken the lock, so only the clock shows the end; and it must be read after the store has answered.
TEST(LockTokensOverAnUnrulyStore, aTokenWhoseLeaseEndsDuringACheckIsNotActive) {
  const auto store = std::make_shared<UnrulyStore>();
  LockTokens tokens{store};
  const auto token = tokens.acquire({"orders"}, {.lease = 1s, .waitFor = 30s});
  ASSERT_TRUE(token.has_value()) << token.error().message;
  bool wasActive = false;
  store->whileItReads = [&] {
    wasActive = token->remaining().value() > 0ns;
    while (token->remaining().value() > 0ns) std::this_thread::yield();
  };
  const TokenView view = tokens.check(*token).value();
  EXPECT_TRUE(wasActive) << "this machine is too slow for the test to tell anything";
  EXPECT_FALSE(view.active);
  EXPECT_EQ(view.why.value().reason, RevokeReason::expired);
  EXPECT_EQ(view.remaining, 0ns);
}

TEST(LockTokensOverAnUnrulyStore, aRenewalThatIsAnsweredAfterItsLeaseIsLost) {
  const auto store = std::make_shared<UnrulyStore>();
  LockTokens tokens{store};
  const auto token = tokens.acquire({"orders"}, {.lease = 60s});
  ASSERT_TRUE(token.has_value()) << token.error().message;
  store->whileItWrites = [until = std::chrono::steady_clock::now() + 1s] {
    while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
  };
  const auto renewed = tokens.renew(*token, {.lease = 100ms});
  ASSERT_TRUE(renewed.has_error());
  EXPECT_EQ(renewed.error().reason, RevokeReason::expired) << renewed.error().message;
}

/// A store that watches the lock may answer a candidate that waits by what the watch has shown; one look must be true.
TEST(LockTokensOverAnUnrulyStore, aSingleLookMayNotBeLate) {
  const auto store = std::make_shared<UnrulyStore>();
  store->lastReadMayBeLate = true;
  ASSERT_TRUE(LockTokens{store}.acquire({"orders"}, {.waitFor = 0ms}).has_value());
  EXPECT_FALSE(std::exchange(store->lastReadMayBeLate, true));
  LockClient client{store, {}};
  const auto lock = client.tryAcquire({"invoices"});
  ASSERT_TRUE(lock.has_value()) << lock.error().message;
  EXPECT_FALSE(store->lastReadMayBeLate);
}

TEST(LockTokensOverAnUnrulyStore, onlyTheLooksOfAnAcquisitionThatWaitsMayBeLate) {
  const auto store = std::make_shared<UnrulyStore>();
  LockTokens tokens{store};
  const auto token = tokens.acquire({"orders"}, {.lease = 60s, .waitFor = 30s});
  ASSERT_TRUE(token.has_value()) << token.error().message;
  EXPECT_TRUE(store->lastReadMayBeLate);
  EXPECT_TRUE(tokens.isActive(*token).value());
  EXPECT_FALSE(std::exchange(store->lastReadMayBeLate, true));
  EXPECT_TRUE(tokens.resume({"orders"}, token->owner()).has_value());
  EXPECT_FALSE(store->lastReadMayBeLate);
}

/// I8: the exception says nothing about the record.
TEST(LockTokensOverAnUnrulyStore, whatItAppliedBeforeItThrewIsFound) {
  const auto store = std::make_shared<UnrulyStore>();
  LockTokens tokens{store};
  store->throwsOnceApplied = true;
  const auto token = tokens.acquire({"orders"}, {.lease = 60s, .waitFor = 30s});
  ASSERT_TRUE(token.has_value()) << token.error().message;
  EXPECT_EQ(token->fencingToken(), FencingToken{1}) << "it is not acquired a second time";
  EXPECT_TRUE(tokens.isActive(*token).value());

  store->throwsOnceApplied = true;
  const auto renewed = tokens.renew(*token, {.budget = 30s});
  ASSERT_TRUE(renewed.has_value()) << renewed.error().message;
  EXPECT_TRUE(tokens.isActive(*renewed).value());
  EXPECT_EQ(tokens.renew(*token).error().code, LockErrc::superseded);

  store->throwsOnceApplied = true;
  EXPECT_EQ(tokens.release(*renewed, 30s).value(), ReleaseResult::released);
  EXPECT_EQ(tokens.check(*renewed)->why.value().code, LockErrc::notHeld);
  EXPECT_FALSE(store->throwsOnceApplied) << "each of the three writes was thrown out of";
}

/// The budget is for the read and the renewal together.
TEST(LockTokensOverAnUnrulyStore, aResumptionsRenewalHasTheTimeThatItsReadHasLeft) {
  const auto store = std::make_shared<UnrulyStore>();
  LockTokens tokens{store};
  const auto token = tokens.acquire({"orders"}, {.lease = 60s, .waitFor = 30s});
  ASSERT_TRUE(token.has_value()) << token.error().message;
  store->whileItReads = [] {
    const Instant began = readClock();
    while (elapsedForHolder(began, readClock()) < 200ms) std::this_thread::yield();
  };
  const auto resumed = tokens.resume({"orders"}, token->owner(), {.budget = 4s});
  ASSERT_TRUE(resumed.has_value()) << resumed.error().message;
  EXPECT_LE(store->lastWritesTime, 3'800ms);

  store->lastWritesTime.reset();
  store->whileItReads = [] {
    const Instant began = readClock();
    while (elapsedForHolder(began, readClock()) < 60ms) std::this_thread::yield();
  };
  const auto late = tokens.resume({"orders"}, token->owner(), {.budget = 50ms});
  ASSERT_TRUE(late.has_error());
  EXPECT_EQ(late.error().code, LockErrc::storeUnavailable);
  EXPECT_FALSE(store->lastWritesTime) << "nothing is sent when the time is over";
}

/// One part of it throws that only makes waiting quicker.
class PartlyThrowingStore final : public ForwardingStore,
                                  public DeathNotice,
                                  public std::enable_shared_from_this<PartlyThrowingStore> {
 public:
  enum class Part { watch, deathNotice, follow };
  PartlyThrowingStore(Part part, bool oddly) : ForwardingStore{makeMemoryStore()}, part_{part}, oddly_{oddly} {}

  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& /*key*/, std::function<void()> /*hint*/) override {
    return failAt(Part::watch);
  }
  [[nodiscard]] std::shared_ptr<DeathNotice> deathNotice() override {
    failAt(Part::deathNotice);
    return shared_from_this();
  }
  [[nodiscard]] StoreResult<LivenessFile> livenessFile() override { return StoreError{ErrorClass::transient, "none"}; }
  [[nodiscard]] int descriptor() const noexcept override { return -1; }
  [[nodiscard]] std::shared_ptr<void> follow(const LeaseRecord& /*record*/,
                                             std::function<void(RecordVersion)> /*proven*/) override {
    return failAt(Part::follow);
  }

  /// A holder that never renews, and whose death could be proven.
  void putHolder(std::chrono::milliseconds lease) {
    WriteRequest request{{"orders"}, WriteRequest::Purpose::acquire, {}, {}};
    request.record.holder = "dead";
    request.record.version = RecordVersion{"1"};
    request.record.leaseDuration = lease;
    request.record.livenessFile = LivenessFile{"livenessFile", "boot", 1, 2};
    write(std::move(request), {1s}, [](const WriteOutcome&) {});
  }

 private:
  std::shared_ptr<void> failAt(Part part) const {
    if (part != part_) return nullptr;
    if (oddly_) throw 42;
    throw std::runtime_error{"injected"};
  }

  const Part part_;
  const bool oddly_;
};

TEST(LockTokensOverAnUnrulyStore, whatOnlyMakesItQuickerIsDoneWithout) {
  using Part = PartlyThrowingStore::Part;
  for (const Part part : {Part::watch, Part::deathNotice, Part::follow}) {
    for (const bool oddly : {false, true}) {
      const auto store = std::make_shared<PartlyThrowingStore>(part, oddly);
      store->putHolder(300ms);
      std::vector<std::string> lines;
      LockTokens tokens{store,
                        Logger{LogLevel::warn, [&](LogLevel, std::string_view line) { lines.emplace_back(line); }}};
      const auto token = tokens.acquire({"orders"}, {.waitFor = 60s});
      ASSERT_TRUE(token.has_value()) << token.error().message;
      EXPECT_EQ(token->fencingToken(), FencingToken{2});
      const std::string line = std::string{"orders: no "} +
                               (part == Part::watch ? "notification of changes" : "death notice") +
                               ": the store threw: " + (oddly ? "something that is not a std::exception" : "injected");
      EXPECT_EQ(std::count(lines.begin(), lines.end(), line), 1) << line;
    }
  }
}

/// As DynamoDB without the table: each call is refused until ensureSchema() has created it.
class TablelessStore final : public PolledStore {
 public:
  enum class Making { allowed, refused, takesThreeCalls };
  explicit TablelessStore(Making making) : PolledStore{makeMemoryStore()}, making_{making} {}

  /// Somebody deletes the table.
  void drop() { isThere_ = false; }
  [[nodiscard]] int asked() const { return asked_; }

  void ensureSchema(CallOptions options, StatusHandler handler) override {
    const int nth = ++asked_;
    if (making_ == Making::refused) {
      return tell(std::move(handler), StoreStatus{StoreError{ErrorClass::misconfigured, "the table may not be made"}});
    }
    if (making_ == Making::takesThreeCalls && nth < 3) {
      return tell(std::move(handler),
                  StoreStatus{StoreError{ErrorClass::transient, "the table is still being created"}});
    }
    isThere_ = true;
    behind_->ensureSchema(options, std::move(handler));
  }
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    if (!isThere_) return tell(std::move(handler), ReadOutcome{noTable()});
    behind_->read(key, options, std::move(handler));
  }
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    if (!isThere_) return tell(std::move(handler), WriteOutcome{Rejected{noTable()}});
    behind_->write(std::move(request), options, std::move(handler));
  }

 private:
  static StoreError noTable() { return {ErrorClass::misconfigured, "the table does not exist"}; }
  template <class Handler, class Outcome>
  static void tell(Handler handler, Outcome outcome) {
    sharedScheduler()->post([handler = std::move(handler), outcome = std::move(outcome)] { handler(outcome); });
  }

  const Making making_;
  std::atomic<bool> isThere_{false};
  std::atomic<int> asked_{0};
};

TEST(LockTokensWithoutATable, anAcquisitionMakesItAndLooksNoMoreThanThat) {
  const auto store = std::make_shared<TablelessStore>(TablelessStore::Making::allowed);
  LockTokens tokens{store};
  const auto token = tokens.acquire({"orders"}, {.waitFor = 0ms});
  ASSERT_TRUE(token.has_value()) << token.error().message;
  EXPECT_TRUE(tokens.acquire({"invoices"}, {.waitFor = 0ms}).has_value());
  EXPECT_EQ(store->asked(), 1) << "where the table is, nobody asks for it";
  EXPECT_TRUE(tokens.isActive(*token).value());
}

TEST(LockTokensWithoutATable, oneThatTakesItsTimeIsWaitedFor) {
  const auto store = std::make_shared<TablelessStore>(TablelessStore::Making::takesThreeCalls);
  const auto token = LockTokens{store}.acquire({"orders"}, {.lease = 1s, .waitFor = 60s});
  ASSERT_TRUE(token.has_value()) << token.error().message;
  EXPECT_EQ(store->asked(), 3);
}

TEST(LockTokensWithoutATable, oneThatMayNotBeMadeEndsTheCallAndSaysSo) {
  const auto store = std::make_shared<TablelessStore>(TablelessStore::Making::refused);
  const auto token = LockTokens{store}.acquire({"orders"}, {.waitFor = 60s});
  ASSERT_TRUE(token.has_error());
  EXPECT_EQ(token.error().code, LockErrc::storeMisconfigured);
  EXPECT_EQ(token.error().store.value().errorClass, ErrorClass::misconfigured);
  EXPECT_NE(token.error().message.find("the table may not be made"), std::string::npos) << token.error().message;
  EXPECT_EQ(store->asked(), 1);
}

TEST(LockTokensWithoutATable, onlyAnAcquisitionMakesIt) {
  const auto store = std::make_shared<TablelessStore>(TablelessStore::Making::allowed);
  LockTokens tokens{store};
  const auto token = tokens.acquire({"orders"}, {.waitFor = 0ms});
  ASSERT_TRUE(token.has_value()) << token.error().message;
  store->drop();
  EXPECT_TRUE(tokens.check(*token).has_error());
  EXPECT_TRUE(tokens.renew(*token).has_error());
  EXPECT_TRUE(tokens.release(*token).has_error());
  EXPECT_EQ(store->asked(), 1);
}

}  // namespace
}  // namespace tenure::test
