// A client closes while one of its acquisitions is decided. A separate program, because it leads the locks of mutexes
// through itself: whatever another thread does meanwhile takes effect right before one of them.
#include <functional>
#include <pthread.h>

#include <gtest/gtest.h>

#include "lockcore/lock_world.hpp"

namespace {

// Of this thread.
thread_local int held = 0;
thread_local int locksUntilThen = 0;  ///< 0: none is waited for
std::function<void()> then;

}  // namespace

// --wrap dictates the names.
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier)
extern "C" int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
extern "C" int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  // Where it holds another one, what `then` does might wait for that one.
  if (held == 0 && locksUntilThen > 0 && --locksUntilThen == 0) then();
  ++held;
  return __real_pthread_mutex_lock(mutex);
}
extern "C" int __real_pthread_mutex_unlock(pthread_mutex_t* mutex);
extern "C" int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  --held;
  return __real_pthread_mutex_unlock(mutex);
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// The lock is won right before the close takes its mutex number `n`. False: it takes fewer. It runs on the loop's own
/// thread, so it waits for nothing.
bool closesWhatIsWonAt(int n) {
  LockWorld world;
  const auto client = world.makeClient();
  world.store->set(Operation::acquire, Fault::answeredLate);
  world.store->delayBy(1s);
  const LockWorld::Outcome outcome = world.begin(*client, "orders", {.waitFor = 10s});
  world.pass(20ms);
  EXPECT_TRUE(world.stored("orders") && !*outcome) << "it has arrived, and is not answered yet";
  bool won = false;
  then = [&] {
    world.pass(1s);
    won = *outcome && (*outcome)->has_value();
  };
  locksUntilThen = n;
  client->close();
  const bool reached = std::exchange(locksUntilThen, 0) == 0;
  world.pass(1s);
  EXPECT_TRUE(*outcome) << n;
  EXPECT_TRUE(world.stored("orders")->released) << "mutex " << n << (won ? ", won before" : ", not won");
  EXPECT_FALSE(client->holds({"orders"})) << n;
  return reached;
}

TEST(LockClientClose, endsALockThatIsWonAtAnyMomentOfIt) {
  int n = 1;
  while (closesWhatIsWonAt(n)) ++n;
  EXPECT_GT(n, 5) << "the close takes some";
}

}  // namespace
}  // namespace tenure::test
