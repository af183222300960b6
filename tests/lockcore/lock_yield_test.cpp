// maxConsecutiveHold and yieldFor, on a manual clock: a process that takes a lock again and again leaves it to other
// processes in between, which only poll.
#include <algorithm>

#include <gtest/gtest.h>

#include "lockcore/lock_world.hpp"
#include "support/polled_store.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// The same store as another process sees it: clients of another store object have another line.
class OtherProcess final : public PolledStore {
 public:
  using PolledStore::PolledStore;
};

/// Its tokens come from a revision that all of its writes raise.
class StoreWithRevision final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    revision_ += 3;
    if (request.purpose == WriteRequest::Purpose::acquire) {
      request.tokenFloor = std::max(request.tokenFloor, FencingToken{revision_});
    }
    ForwardingStore::write(std::move(request), options, std::move(handler));
  }

 private:
  std::uint64_t revision_{100};
};

/// Takes the lock, holds it for a while, releases it, and comes again at once.
class Worker {
 public:
  Worker(LockWorld& world, const std::shared_ptr<LeaseStore>& store, const std::string& name, AcquireOptions options)
      : world_{&world}, options_{std::move(options)} {
    LockClientOptions client;
    client.candidate = name;
    client.lease = lockLease();
    Runtime runtime;
    runtime.scheduler = world.loop;
    runtime.executor = [&world](std::function<void()> task) { world.callbacks->post(std::move(task)); };
    runtime.random = std::make_unique<SeededRandom>(name.front());
    client_ = std::make_unique<LockClient>(store, std::move(client), std::move(runtime));
  }
  ~Worker() {
    cancel_.request_stop();
    lock_.reset();
    world_->blocking([&] { return client_->close(); });
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void come() {
    const Instant from = world_->scheduler->now();
    const auto enter = [this, from](LockResult<Lock> won) {
      if (won.has_error()) return;
      waits.push_back(elapsedForHolder(from, world_->scheduler->now()));
      lock_.emplace(*std::move(won));
      world_->scheduler->post([this] { world_->scheduler->schedule(section, [this] { leave(); }); });
    };
    client_->acquireAsync({"hot"}, options_, enter, cancel_.get_token());
  }
  /// Without any wait that has ended, it is still waiting.
  [[nodiscard]] nanoseconds longestWait() const {
    return waits.empty() ? nanoseconds::max() : *std::max_element(waits.begin(), waits.end());
  }
  [[nodiscard]] LockClient& client() { return *client_; }

  static constexpr milliseconds section{70};
  bool again{true};
  int sections{0};
  std::vector<nanoseconds> waits;

 private:
  void leave() {
    if (!lock_) return;
    ++sections;
    (void)lock_->release({.waitFor = 0ms});
    lock_.reset();
    if (again) come();
  }

  LockWorld* const world_;
  const AcquireOptions options_;
  std::unique_ptr<LockClient> client_;
  std::stop_source cancel_{};
  std::optional<Lock> lock_;
};

/// Two processes that want the lock all the time get equal shares of it.
void expectFairShares(LockWorld& world, const std::shared_ptr<LeaseStore>& store) {
  const AcquireOptions options{.poll = 200ms, .maxConsecutiveHold = 2s};  // so it yields for a second
  Worker a{world, store, "a", options};
  Worker b{world, std::make_shared<OtherProcess>(store), "b", options};
  a.come();
  world.pass(50ms);
  b.come();
  world.pass(120s);
  const int all = a.sections + b.sections;
  EXPECT_GE(a.sections, all * 2 / 5);
  EXPECT_GE(b.sections, all * 2 / 5);
  const nanoseconds most = 2s + Worker::section + 1s;
  EXPECT_LE(a.longestWait(), 1s + most) << "it may have rested itself";
  EXPECT_LE(b.longestWait(), 1s + most);
  EXPECT_GE(all, 120s / Worker::section * 3 / 4) << "and little of the time is lost";
}

void expectCountedAnew(LockWorld& world, const std::shared_ptr<LeaseStore>& store) {
  const AcquireOptions options{.maxConsecutiveHold = 100ms, .yieldFor = 5s};
  Worker a{world, store, "a", options};
  Worker b{world, std::make_shared<OtherProcess>(store), "b", {}};
  a.again = b.again = false;
  for (Worker* worker : {&a, &b, &a, &b, &a}) {
    worker->come();
    world.pass(100ms);
  }
  EXPECT_EQ(a.sections, 3) << "70 ms each, and somebody else's after each of them";
  EXPECT_EQ(b.sections, 2);
}

class LockYield : public testing::Test {
 protected:
  LockWorld world;
  const std::shared_ptr<LeaseStore> elsewhere{std::make_shared<OtherProcess>(world.store)};
};

/// Why these options exist: without them another process gets the lock only by luck.
TEST_F(LockYield, withoutItAProcessThatReturnsAtOnceStarvesThoseThatPoll) {
  Worker a{world, world.store, "a", {.poll = 200ms}};
  Worker b{world, elsewhere, "b", {.poll = 200ms}};
  a.come();
  world.pass(50ms);
  b.come();
  world.pass(60s);
  EXPECT_GT(a.sections, 800);
  EXPECT_LT(b.sections, 40);
}

TEST_F(LockYield, letsAnotherProcessInAndBothGetTheirShare) { expectFairShares(world, world.store); }

TEST_F(LockYield, isAsFairWhereOtherWritesRaiseTheTokens) {
  expectFairShares(world, std::make_shared<StoreWithRevision>(world.store));
}

TEST_F(LockYield, countsAnewAfterOthersWhereOtherWritesRaiseTheTokens) {
  expectCountedAnew(world, std::make_shared<StoreWithRevision>(world.store));
}

TEST_F(LockYield, countsAllClientsOfTheProcessTogether) {
  const AcquireOptions options{.poll = 200ms, .maxConsecutiveHold = 2s};
  std::vector<std::unique_ptr<Worker>> crowd;
  for (const char* name : {"a", "b", "c", "d"}) {
    crowd.push_back(std::make_unique<Worker>(world, world.store, name, options));
    crowd.back()->come();
  }
  Worker single{world, elsewhere, "s", options};
  world.pass(50ms);
  single.come();
  world.pass(120s);
  int all = single.sections;
  for (const auto& worker : crowd) {
    all += worker->sections;
    EXPECT_GT(worker->sections, 100) << "in the line it is first come, first served";
  }
  EXPECT_GE(single.sections, all * 2 / 5);
  EXPECT_LE(single.longestWait(), 1s + 2s + Worker::section + 1s);
}

TEST_F(LockYield, costsAProcessThatIsAloneTheseTimesAndNoMore) {
  Worker a{world, world.store, "a", {.poll = 200ms, .maxConsecutiveHold = 2s}};
  a.come();
  world.pass(61s);
  const auto yields = std::count_if(a.waits.begin(), a.waits.end(), [](nanoseconds wait) { return wait >= 900ms; });
  EXPECT_GE(yields, 18) << "one in three seconds";
  EXPECT_LE(yields, 21);
  EXPECT_GE(a.sections, 61s / Worker::section * 3 / 5);
}

TEST_F(LockYield, afterEachReleaseCountsFromIt) {
  Worker a{world, world.store, "a", {.maxConsecutiveHold = 0ms, .yieldFor = 500ms}};
  a.again = false;
  a.come();
  world.pass(100ms);
  ASSERT_EQ(a.sections, 1);
  a.come();  // 30 ms after the release
  world.pass(460ms);
  EXPECT_EQ(a.waits.size(), 1U);
  world.pass(20ms);
  ASSERT_EQ(a.waits.size(), 2U);
  EXPECT_LE(a.waits[1], 480ms);
  world.pass(60ms + 500ms);
  a.come();
  world.pass(10ms);
  EXPECT_EQ(a.waits.size(), 3U) << "it was away for long enough";
}

TEST_F(LockYield, aHoldIsCountedAnewAfterOthersHadTheLock) { expectCountedAnew(world, world.store); }

TEST_F(LockYield, neverMakesABoundedWaitFail) {
  const AcquireOptions options{.waitFor = 300ms, .maxConsecutiveHold = 0ms, .yieldFor = 5s};
  Worker a{world, world.store, "a", options};
  a.again = false;
  for (int i = 0; i < 2; ++i) {
    a.come();
    world.pass(400ms);
  }
  EXPECT_EQ(a.sections, 2);
  EXPECT_GE(a.longestWait(), 200ms) << "it yielded as long as it could";
  EXPECT_TRUE(world.tryNow(a.client(), "hot", options).has_value());
}

TEST_F(LockYield, isCheckedWithTheOtherOptions) {
  const auto client = world.makeClient("a");
  const auto refused = world.tryNow(*client, "hot", {.maxConsecutiveHold = -1ms, .yieldFor = 25h});
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().code, LockErrc::invalidOptions);
  ASSERT_EQ(refused.error().faults.size(), 2U);
  EXPECT_EQ(refused.error().faults[0].field, "maxConsecutiveHold");
  EXPECT_EQ(refused.error().faults[1].field, "yieldFor");
  const auto alone = world.tryNow(*client, "hot", {.yieldFor = 1s});
  ASSERT_TRUE(alone.has_error());
  EXPECT_NE(alone.error().message.find("without maxConsecutiveHold"), std::string::npos) << alone.error().message;
  world.blocking([&] { return client->close(); });
}

}  // namespace
}  // namespace tenure::test
