// What outlives a client or an observer that is destroyed early: what it has promised, but not the user's scheduler.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lock_world.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;
using test::Fault;
using test::Operation;

class LockLifetime : public testing::Test {
 protected:
  test::LockWorld world;
};

/// The user may destroy the loop under its scheduler right after the handle, whatever the callback does.
TEST_F(LockLifetime, aRunningCallbackOfAnObserverDoesNotKeepTheScheduler) {
  auto loop = std::make_shared<test::TestersLoop>(world.scheduler);
  const std::weak_ptr<Scheduler> known = loop;
  LockClientOptions options;
  options.lease = test::lockLease();
  Runtime runtime{std::move(loop), [this](std::function<void()> task) { world.callbacks->post(std::move(task)); },
                  nullptr};
  auto client = std::make_unique<LockClient>(world.store, std::move(options), std::move(runtime));
  std::optional<LeaseObserver> observer;
  bool told = false;
  observer = client
                 ->observe({"orders"},
                           [&](const std::optional<LeaderInfo>&) {
                             told = true;
                             observer.reset();
                             client.reset();
                             EXPECT_TRUE(known.expired());
                           })
                 .value();
  world.pass(1s);
  EXPECT_TRUE(told);
}

/// What the callback uses may be gone with the client, whether or not the user still has the observer.
TEST_F(LockLifetime, anObserverEndsWithItsClient) {
  for (const bool onItsThread : {true, false}) {
    auto client = world.makeClient("a");
    const auto other = world.makeClient("b");
    int told = 0;
    const LeaseObserver observer = client->observe({"orders"}, [&](const auto&) { ++told; }).value();
    Lock lock = world.acquireNow(*other, "orders");
    world.pass(4s);
    ASSERT_TRUE(observer.holder());
    ASSERT_TRUE(world.release(lock) == ReleaseResult::released);
    world.scheduler->advance(4s);  // the news waits on the executor
    const int before = told;
    const auto destroy = [&] { return client.reset(), 0; };
    onItsThread ? destroy() : world.blocking(destroy);
    EXPECT_FALSE(observer.holder());
    const int atEnd = told;
    EXPECT_TRUE(!onItsThread || atEnd == before) << "what has waited does not begin";
    const auto reads = world.store->calls(Operation::read);
    world.pass(30s);
    EXPECT_EQ(world.store->calls(Operation::read), reads) << "nobody asks any more";
    Lock again = world.acquireNow(*other, "orders");
    world.pass(4s);
    EXPECT_EQ(told, atEnd) << "nothing is told after the client's end";
    world.release(again);
  }
}

TEST_F(LockLifetime, aCopyOfAnObserverStillFollows) {
  const auto client = world.makeClient("a");
  const auto other = world.makeClient("b");
  std::optional<LeaseObserver> first = client->observe({"orders"}).value();
  const LeaseObserver copy = *first;
  first.reset();
  std::optional<Lock> lock = world.acquireNow(*other, "orders");
  world.pass(4s);
  ASSERT_TRUE(copy.holder());
  EXPECT_EQ(copy.holder()->holder, other->candidate());
  lock.reset();
  world.settle();  // its release holds the scheduler until it has run
}

/// On the scheduler's thread nothing can be waited for. What was begun is undone all the same.
TEST_F(LockLifetime, anAcquisitionUnderWayIsReleasedIfTheClientDiesOnItsScheduler) {
  world.store->delayBy(1s);
  world.store->set(Operation::acquire, Fault::answeredLate);
  auto client = world.makeClient("a");
  const auto outcome = world.begin(*client, "orders");
  world.pass(500ms);
  ASSERT_TRUE(world.stored("orders"));
  ASSERT_FALSE(world.stored("orders")->released) << "applied, and not answered yet";
  client.reset();
  world.pass(2s);
  ASSERT_TRUE(*outcome);
  EXPECT_EQ((*outcome)->error().code, LockErrc::cancelled);
  EXPECT_TRUE(world.stored("orders")->released);
}

/// Locks that end while close() begins have ended cleanly.
TEST(LockClose, knowsWhatEndsWhileItBegins) {
  constexpr int keys = 100;
  for (int round = 0; round < 20; ++round) {
    LockClient client{makeMemoryStore()};
    std::vector<Lock> locks;
    for (int i = 0; i < keys; ++i) locks.push_back(client.acquire({"key " + std::to_string(i)}).value());
    std::atomic<bool> go{false};
    std::thread releases{[&] {
      while (!go) std::this_thread::yield();
      for (Lock& lock : locks) (void)lock.release({.waitFor = 0ms});
    }};
    go = true;
    const CloseReport report = client.close();
    releases.join();
    EXPECT_TRUE(report.clean()) << "round " << round;
  }
}

}  // namespace
}  // namespace tenure
