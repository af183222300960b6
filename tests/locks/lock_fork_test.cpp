// fork() while other threads of the parent are inside the library: no call of the child waits for locks that they hold.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include <tenure/lockcore/lock_client.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "lockcore/child_process.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

// AddressSanitizer of g++ 12 has locks of its own. A child waits for ever for one that a thread of the parent held
// while it allocated. So a child that hangs would say nothing about the library.
#if !defined(__SANITIZE_ADDRESS__)
/// Makes every call of a lock and its client; none has an effect. Returns what went wrong; 0: nothing.
int callAll(LockClient& client, Lock& lock, std::stop_source pending, const LeaseObserver& observer) {
  const auto forked = [](const auto& result) { return result.has_error() && result.error().code == LockErrc::forked; };
  if (!forked(lock.ensure(1ms)) || !forked(lock.ensure(1h))) return 1;
  if (!forked(lock.extend(1ms)) || !forked(lock.extend(-1ms))) return 2;
  if (!forked(lock.renew()) || !forked(lock.setData("x")) || !forked(lock.clearData())) return 3;
  if (!forked(lock.share()) || !forked(lock.onExpiring(1ms, {}))) return 4;
  if (lock.isHeld() || lock.isValid() || lock.remaining() != 0ns) return 5;
  lock.onLost([](const TermEnd&) {});
  lock.renewAsync({}, [](const LockResult<void>&) {});
  lock.reportStaleToken(FencingToken{99});
  static_cast<void>(lock.stopToken());
  if (lock.loss() || !lock.data().empty() || lock.lease() != 10s || lock.leaseName() != "held") return 6;
  if (lock.release() != ReleaseResult::notHeld) return 7;
  if (!forked(client.acquire({"other"})) || !forked(client.tryAcquire({"other"}))) return 8;
  client.acquireAsync(
      {"other"}, {}, [](const LockResult<Lock>&) {}, pending.get_token());
  pending.request_stop();
  if (!forked(client.acquireAll({LeaseKey{"a"}, LeaseKey{"b"}})) || client.holds({"held"})) return 9;
  if (!client.held().empty() || !forked(client.peek({"held"})) || !forked(client.list(""))) return 10;
  if (!forked(client.scan("", [](const LeaseView&) { return true; })) || !forked(client.observe({"held"}))) return 11;
  if (observer.holder() || !client.close().locks.empty()) return 12;
  return 0;
}

TEST(LockFork, noCallOfAChildWaitsForWhatAThreadOfTheParentHolds) {
  LockClient client{makeMemoryStore()};
  Lock lock = client.acquire({"held"}).value();
  const std::stop_source pending;
  client.acquireAsync(
      {"pending"}, {}, [](const LockResult<Lock>&) {}, pending.get_token());
  const LeaseObserver observer = client.observe({"held"}).value();
  std::atomic<bool> over{false};
  std::thread busy{[&] {
    while (!over) {
      static_cast<void>(lock.data());
      static_cast<void>(client.held());
      static_cast<void>(observer.holder());
      client.acquireAsync({"held"}, {}, [](const LockResult<Lock>&) {});
    }
  }};
  for (int i = 0; i < 60; ++i) {
    const int wrong = inChild([&] { return callAll(client, lock, pending, observer); });
    EXPECT_EQ(wrong, 0) << "-1: it hung";
    if (wrong != 0) break;
  }
  over = true;
  busy.join();
  EXPECT_TRUE(lock.isHeld());
}
#endif

TEST(LockFork, aChildMayDestroyWhatItInherited) {
  const auto store = makeMemoryStore();
  auto client = std::make_unique<LockClient>(store);
  auto lock = std::make_unique<Lock>(client->acquire({"held"}).value());
  EXPECT_EQ(inChild([&] {
              lock.reset();
              client.reset();
              return 0;
            }),
            0);
  EXPECT_TRUE(lock->isHeld());
}

/// It has the last reference to the renewal thread, which does not exist in the child.
TEST(LockFork, aChildMayDestroyAnObserverThatItInherited) {
  auto observer = std::make_unique<LeaseObserver>(LockClient{makeMemoryStore()}.observe({"held"}).value());
  EXPECT_EQ(inChild([&] {
              observer.reset();
              return 0;
            }),
            0);
}

}  // namespace
}  // namespace tenure::test
