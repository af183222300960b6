// A user may block the loop on which the client runs: isHeld() stays true to the facts, and the lock's stop token still
// fires (I4, I6), in real time.
#include <atomic>
#include <chrono>
#include <future>
#include <stop_token>
#include <thread>

#include <gtest/gtest.h>

#include <tenure/lockcore/asio.hpp>
#include <tenure/lockcore/lock_client.hpp>
#include <tenure/lockcore/lock_future.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "support/users_loop.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr LeaseOptions lease{.duration = 600ms};
/// Allowed lateness. A busy machine may be late for other reasons, so a test may try again.
constexpr nanoseconds tolerance = 100ms;
constexpr int tries = 10;

/// A lock whose client's loop is blocked from the constructor on.
class LockOnABlockedLoop {
 public:
  LockOnABlockedLoop() {
    lock.onLost([this](const TermEnd& loss) { lost.set_value(loss); });
    loop.block(gate);
  }

 private:
  [[nodiscard]] LockClient client() {
    LockClientOptions options;
    options.lease = lease;
    Runtime runtime;
    runtime.scheduler = makeAsioScheduler(loop.io.get_executor());
    return LockClient{makeMemoryStore(), std::move(options), std::move(runtime)};
  }

 public:
  UsersLoop loop;
  std::promise<TermEnd> lost;
  LockClient owner{client()};
  Lock lock{acquireFuture(owner, {"orders"}).get().value()};
  Gate gate;  // last: the members that are destroyed before it need the loop
};

void sleepUntilOver(const Instant& from, nanoseconds length) {
  while (elapsedForHolder(from, readClock()) < length) std::this_thread::yield();
}

TEST(LockWatchdog, onABlockedLoopNothingIsHeldAfterTheLease) {
  LockOnABlockedLoop blocked;
  const nanoseconds left = blocked.lock.remaining();
  const Instant asked = readClock();  // after it: from here on no more than that is left
  sleepUntilOver(asked, left);
  EXPECT_FALSE(blocked.lock.isHeld());
  EXPECT_FALSE(blocked.owner.holds({"orders"}));
  EXPECT_TRUE(blocked.owner.held().empty());
  EXPECT_EQ(blocked.lock.remaining(), 0ns);
  sleepUntilOver(asked, lease.duration);
  EXPECT_FALSE(blocked.lock.isValid());
}

/// How much later than the end of the lead the stop token fired.
nanoseconds latenessOfTheStopToken() {
  LockOnABlockedLoop blocked;
  std::promise<Instant> fired;
  const std::stop_callback onStop{blocked.lock.stopToken(), [&] { fired.set_value(readClock()); }};
  const Instant asked = readClock();
  const nanoseconds left = blocked.lock.remaining();
  auto firedAt = fired.get_future();
  if (firedAt.wait_for(20s) != std::future_status::ready) {
    ADD_FAILURE() << "it did not fire while the loop was blocked";
    return 0ns;
  }
  const nanoseconds late = elapsedForHolder(asked, firedAt.get()) - left;
  blocked.gate.open();
  const TermEnd loss = blocked.lost.get_future().get();
  EXPECT_EQ(loss.reason, RevokeReason::expired);
  if (late <= tolerance) {
    EXPECT_NE(loss.detail.find("blocked"), std::string::npos) << loss.detail;
  }
  EXPECT_GE(late, 0ns);
  return late;
}

TEST(LockWatchdog, aBlockedLoopTakesNoStopTokenAway) {
  nanoseconds best = nanoseconds::max();
  for (int i = 0; i < tries && best > tolerance; ++i) best = std::min(best, latenessOfTheStopToken());
  EXPECT_LE(best, tolerance);
}

}  // namespace
}  // namespace tenure::test
