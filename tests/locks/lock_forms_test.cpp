// The forms of an acquisition with real threads and time: blocking, callback, future, Asio's tokens; and many threads
// at once.
#include <atomic>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <tenure/lockcore/asio.hpp>
#include <tenure/lockcore/lock_asio.hpp>
#include <tenure/lockcore/lock_client.hpp>
#include <tenure/lockcore/lock_future.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

class LockForms : public testing::Test {
 protected:
  std::shared_ptr<LeaseStore> store{makeMemoryStore()};
  LockClient a{store};
  LockClient b{store};
};

TEST_F(LockForms, blocking) {
  LockResult<Lock> lock = a.acquire({"orders"});
  ASSERT_TRUE(lock.has_value());
  EXPECT_TRUE(lock->isHeld());
  EXPECT_EQ(b.tryAcquire({"orders"}).error().code, LockErrc::held);
  EXPECT_TRUE(lock->renew({.data = "x"}).has_value());
  EXPECT_EQ(b.peek({"orders"})->data(), "x");
  EXPECT_EQ(lock->release(), ReleaseResult::released);
  EXPECT_TRUE(b.tryAcquire({"orders"}).has_value());
}

TEST_F(LockForms, callbackAndFuture) {
  std::promise<bool> held;
  a.acquireAsync({"orders"}, {}, [&](LockResult<Lock> lock) {
    held.set_value(lock->isHeld());  // the lock is destroyed with the callback
  });
  EXPECT_TRUE(held.get_future().get());
  LockResult<Lock> lock = acquireFuture(b, {"orders"}).get();
  ASSERT_TRUE(lock.has_value());
  EXPECT_EQ(lock->fencingToken(), FencingToken{2});
}

/// Otherwise it would be renewed for nobody, for as long as the other one's work takes.
TEST_F(LockForms, theCallbackOfALockWaitsForNoOther) {
  std::promise<void> end;
  std::promise<void> begun;
  a.acquireAsync({"orders"}, {}, [&](const LockResult<Lock>& lock) {
    EXPECT_TRUE(lock.has_value());
    begun.set_value();
    end.get_future().wait();
  });
  begun.get_future().wait();
  auto other = acquireFuture(a, {"bills"});
  auto refused = acquireFuture(a, {"orders"}, {.waitFor = 0ms});
  EXPECT_EQ(other.wait_for(10s), std::future_status::ready);
  EXPECT_EQ(refused.wait_for(10s), std::future_status::ready);
  end.set_value();
  EXPECT_TRUE(other.get().has_value());
  EXPECT_EQ(refused.get().error().code, LockErrc::heldBySelf);
}

TEST_F(LockForms, aCallbackMayDestroyItsClient) {
  for (int i = 0; i < 300; ++i) {
    auto client = std::make_shared<LockClient>(store);
    LockClient& used = *client;
    std::promise<void> done;
    used.acquireAsync({"orders"}, {}, [&done, client = std::move(client)](LockResult<Lock> lock) mutable {
      EXPECT_TRUE(lock.has_value());
      EXPECT_EQ(lock->release(), ReleaseResult::released);
      client.reset();
      done.set_value();
    });
    done.get_future().wait();
  }
}

/// Between the loss and the end of its session, too.
TEST_F(LockForms, aLostLockIsAcquiredAgainAtOnce) {
  for (int i = 0; i < 300; ++i) {
    LockResult<Lock> lock = a.acquire({"orders"});
    ASSERT_TRUE(lock.has_value());
    std::promise<LockResult<Lock>> again;
    std::optional<std::stop_callback<std::function<void()>>> onStop;
    onStop.emplace(lock->stopToken(), [&] { again.set_value(a.acquire({"orders"}, {.waitFor = 10s})); });
    lock->reportStaleToken(FencingToken{lock->fencingToken().value() + 1});
    const auto second = again.get_future().get();
    ASSERT_TRUE(second.has_value()) << second.error().message;
  }
}

TEST_F(LockForms, extensionsAddUpWhoeverAsksForThem) {
  for (int i = 0; i < 50; ++i) {
    LockResult<Lock> lock = a.acquire({"orders"}, {.lease = 10s});
    ASSERT_TRUE(lock.has_value());
    std::latch both{2};
    auto other = std::async(std::launch::async, [&] {
      both.arrive_and_wait();
      return lock->extend(5s).has_value();
    });
    both.arrive_and_wait();
    EXPECT_TRUE(lock->extend(5s).has_value());
    EXPECT_TRUE(other.get());
    EXPECT_EQ(lock->lease(), 20s);
  }
}

TEST_F(LockForms, acquireAllNamesOptionsThatAreOutOfRange) {
  const auto longest = std::chrono::milliseconds::max();
  EXPECT_EQ(a.acquireAll({{"x"}, {"y"}}, {.waitFor = longest}).error().code, LockErrc::invalidOptions);
  EXPECT_EQ(a.acquireAll({{"x"}, {"y"}}, {.lease = longest}).error().code, LockErrc::invalidOptions);
}

TEST_F(LockForms, aFutureThatIsDroppedReleasesWhatItWon) {
  { const auto dropped = acquireFuture(a, {"orders"}); }
  LockResult<Lock> lock = b.acquire({"orders"}, {.waitFor = 10s});
  EXPECT_TRUE(lock.has_value());
}

TEST_F(LockForms, asioTokensOnTheCallersLoop) {
  asio::io_context io;
  LockClient first{store};  // destroyed before the loop
  LockClient other{store};
  std::optional<FencingToken> token;
  std::optional<LockErrc> refused;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        const LeaseKey key{"orders"};  // named: g++ 12 destroys some temporaries of co_await twice
        const AcquireOptions once{.waitFor = 0ms};
        LockResult<Lock> lock = co_await asyncAcquire(first, io.get_executor(), key, once, asio::use_awaitable);
        token = lock->fencingToken();
        const LockResult<Lock> second = co_await asyncAcquire(other, io.get_executor(), key, once, asio::use_awaitable);
        refused = second.error().code;
      },
      asio::detached);
  io.run();
  EXPECT_EQ(token, FencingToken{1});
  EXPECT_EQ(refused, LockErrc::held);
}

TEST_F(LockForms, aCoroutineMayReturnALock) {
  asio::io_context io;
  LockClient client{store};
  const auto acquired = [&]() -> asio::awaitable<LockResult<Lock>> {
    const LeaseKey key{"orders"};
    const AcquireOptions once{.waitFor = 0ms};
    co_return co_await asyncAcquire(client, io.get_executor(), key, once, asio::use_awaitable);
  };
  std::future<LockResult<Lock>> future = asio::co_spawn(io, acquired(), asio::use_future);
  io.run();
  EXPECT_TRUE(future.get()->isHeld());
}

TEST_F(LockForms, aLockThatNobodyAcquiredHoldsNothing) {
  Lock none;
  EXPECT_FALSE(none.isHeld());
  EXPECT_EQ(none.fencingToken(), FencingToken{});
  EXPECT_EQ(none.renew().error().code, LockErrc::notHeld);
  EXPECT_EQ(none.release(), ReleaseResult::notHeld);
}

TEST_F(LockForms, asioCancellationEndsTheWait) {
  const Lock held = a.acquire({"orders"}).value();
  asio::io_context io;
  LockClient waiting{store};
  asio::cancellation_signal signal;
  std::optional<LockErrc> code;
  asyncAcquire(
      waiting, io.get_executor(), {"orders"}, {},
      asio::bind_cancellation_slot(signal.slot(), [&](const LockResult<Lock>& lock) { code = lock.error().code; }));
  signal.emit(asio::cancellation_type::terminal);
  io.run();
  EXPECT_EQ(code, LockErrc::cancelled);
  EXPECT_TRUE(held.isHeld());
}

/// If the slot still had a handler, it would access an acquisition that is over.
TEST_F(LockForms, anAcquisitionThatIsOverLeavesNothingInItsCancellationSlot) {
  // It outlives the client, whose thread may still use its queue after the handler has run.
  static asio::io_context io;
  asio::cancellation_signal signal;
  bool slotIsFree = false;
  asyncAcquire(a, io.get_executor(), {"orders"}, {},
               asio::bind_cancellation_slot(signal.slot(), [&](const LockResult<Lock>& lock) {
                 EXPECT_TRUE(lock.has_value());
                 slotIsFree = !signal.slot().has_handler();
               }));
  EXPECT_TRUE(signal.slot().has_handler());
  io.run();
  EXPECT_TRUE(slotIsFree);
}

/// The completion runs on a thread that is faster than the one that began the acquisition.
TEST_F(LockForms, aCancellationSlotIsNotTouchedOnceTheHandlerWasCalled) {
  // It outlives the client, whose thread may still use its queue after the handler has run.
  static asio::thread_pool pool{1};
  for (int i = 0; i < 200; ++i) {
    asio::cancellation_signal signal;
    std::promise<void> done;
    asyncAcquire(a, pool.get_executor(), {"missing"}, {.mustExist = true},
                 asio::bind_cancellation_slot(signal.slot(), [&](const LockResult<Lock>&) { done.set_value(); }));
    done.get_future().get();
    ASSERT_FALSE(signal.slot().has_handler()) << i;
  }
}

TEST_F(LockForms, codesOfEachKindAreErrorCodesToo) {
  const boost::system::error_code held = LockErrc::held;
  EXPECT_TRUE(held.failed()) << "the first kind is no success";
  EXPECT_EQ(held, LockErrc::held);
  EXPECT_NE(held, LockErrc::lost);
  EXPECT_EQ(held.message(), "held");
  EXPECT_EQ(make_error_code(LockErrc::superseded).to_string().rfind("tenure.lock:", 0), 0U);
}

TEST_F(LockForms, asioTokensOfRenewalAndRelease) {
  asio::io_context io;
  LockClient own{store};  // destroyed before the loop
  std::vector<std::string> told;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        const LeaseKey key{"orders"};
        const AcquireOptions once{.waitFor = 0ms};
        LockResult<Lock> lock = co_await asyncAcquire(own, io.get_executor(), key, once, asio::use_awaitable);
        const RenewOptions data{.data = "x"};
        const LockResult<void> renewed = co_await asyncRenew(*lock, io.get_executor(), data, asio::use_awaitable);
        told.push_back(renewed ? lock->data() : renewed.error().message);
        const ReleaseOptions plain{};
        told.emplace_back(toString(co_await asyncRelease(*lock, io.get_executor(), plain, asio::use_awaitable)));
        told.emplace_back(toString(co_await asyncRelease(*lock, io.get_executor(), plain, asio::use_awaitable)));
        const LockResult<void> late = co_await asyncRenew(*lock, io.get_executor(), data, asio::use_awaitable);
        told.emplace_back(toString(late.error().code));
        Lock moved = *std::move(lock);
        const LockResult<void> gone = co_await asyncRenew(*lock, io.get_executor(), data, asio::use_awaitable);
        told.emplace_back(toString(gone.error().code));
      },
      asio::detached);
  io.run();
  EXPECT_EQ(told, (std::vector<std::string>{"x", "released", "released", "notHeld", "notHeld"}));
}

TEST_F(LockForms, theLibrarysWorkRunsOnTheCallersLoop) {
  asio::io_context io;
  auto work = asio::make_work_guard(io);
  std::thread loop{[&] { io.run(); }};
  {
    Runtime runtime;
    runtime.scheduler = makeAsioScheduler(io.get_executor());
    LockClient own{makeMemoryStore(), {}, std::move(runtime)};
    EXPECT_TRUE(own.acquire({"orders"}).has_value());
    std::promise<LockErrc> onLoop;
    asio::post(io, [&] { onLoop.set_value(own.acquire({"orders"}).error().code); });
    EXPECT_EQ(onLoop.get_future().get(), LockErrc::wouldBlock);
  }
  work.reset();
  loop.join();
}

TEST_F(LockForms, clientsOfOneProcessExcludeEachOther) {
  constexpr int threads = 8;
  constexpr int sections = 50;
  int counter = 0;  // not atomic, on purpose
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      LockClient own{store};
      for (int s = 0; s < sections; ++s) {
        LockResult<Lock> lock = own.acquire({"counter"});
        ASSERT_TRUE(lock.has_value()) << lock.error().message;
        ++counter;
        EXPECT_EQ(lock->release(), ReleaseResult::released);
      }
    });
  }
  for (std::thread& one : all) one.join();
  EXPECT_EQ(counter, threads * sections);
}

/// For the thread sanitizer: everything at once with the same few locks.
TEST_F(LockForms, whatWasReleasedMayBeTriedAtOnceByTheSameClient) {
  for (int i = 0; i < 2000; ++i) {
    LockResult<Lock> lock = a.tryAcquire({"orders"});
    ASSERT_TRUE(lock.has_value()) << "round " << i << ": " << lock.error().message;
    ASSERT_EQ(lock->release(), ReleaseResult::released);
  }
}

TEST_F(LockForms, everyCallFromEveryThreadAtOnce) {
  std::atomic<bool> over{false};
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i) {
    all.emplace_back([&, i] {
      LockClient& client = i % 2 == 0 ? a : b;
      while (!over) {
        LockResult<Lock> lock = client.acquire({"k" + std::to_string(i % 3)}, {.waitFor = 50ms, .data = "d"});
        if (lock.has_error()) continue;
        lock->onLost([](const TermEnd&) {});
        (void)lock->onExpiring(100ms, [](std::chrono::nanoseconds) {});
        (void)lock->setData("x");
        std::thread other{[&] {
          (void)lock->isHeld();
          (void)lock->remaining();
          (void)lock->data();
          (void)lock->renew({.lease = 20s});
          lock->release({.waitFor = 0ms});
        }};
        lock->release();
        other.join();
      }
    });
  }
  all.emplace_back([&] {
    while (!over) {
      (void)a.held();
      (void)a.holds({"k0"});
      (void)b.list("k");
      (void)b.peek({"k1"});
    }
  });
  std::this_thread::sleep_for(1s);  // lint-allow(sleep): the threads are to meet for a while; no logic waits
  over = true;
  for (std::thread& one : all) one.join();
  EXPECT_TRUE(a.close().clean());
  EXPECT_EQ(a.acquire({"k0"}).error().code, LockErrc::closed);
}

TEST_F(LockForms, misuse_destroyingTheClientInACallbackOfItsLock) {
  auto client = std::make_unique<LockClient>(store);
  Lock lock = client->acquire({"orders"}).value();
  std::promise<void> gone;
  lock.onLost([&](const TermEnd&) {
    client.reset();
    gone.set_value();
  });
  lock.reportStaleToken(FencingToken{99});
  gone.get_future().get();
  EXPECT_FALSE(lock.isHeld());
  EXPECT_EQ(lock.release(), ReleaseResult::notHeld);
}

TEST_F(LockForms, misuse_twoThreadsReleaseOneLock) {
  for (int i = 0; i < 50; ++i) {
    Lock lock = a.acquire({"orders"}).value();
    std::latch together{2};
    const auto release = [&] {
      together.arrive_and_wait();
      const ReleaseResult result = lock.release();
      EXPECT_TRUE(result == ReleaseResult::released || result == ReleaseResult::unknown) << result;
    };
    std::thread other{release};
    release();
    other.join();
    EXPECT_EQ(lock.release(), ReleaseResult::released);
  }
}

TEST_F(LockForms, twoClientsInOneProcessAreTwoCandidates) {
  EXPECT_NE(a.candidate(), b.candidate());
  const Lock first = a.acquire({"x"}).value();
  const Lock second = b.acquire({"y"}).value();
  EXPECT_TRUE(first.isHeld() && second.isHeld());
}

}  // namespace
}  // namespace tenure::test
