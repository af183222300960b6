// Waits are bounded over a store that does not answer, and what they leave behind is cleaned up. On a manual clock.
#include <vector>

#include <gtest/gtest.h>

#include "lockcore/lock_world.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 500ms;
constexpr auto andAWhile = 60ms;

class LockWaits : public testing::Test {
 protected:
  LockWorld world;
  std::unique_ptr<LockClient> a{world.makeClient("a")};

  void TearDown() override {
    world.blocking([&] { return a->close(); });
  }
  void hang(std::size_t callFromNow, Fault fault) { world.store->failAt(world.store->calls() + callFromNow, fault); }
};

TEST_F(LockWaits, aReadThatIsNotAnsweredEndsWithTheWait) {
  hang(1, Fault::neverLost);
  const auto outcome = world.begin(*a, "orders", {.waitFor = patience});
  world.pass(patience - 10ms);
  EXPECT_FALSE(*outcome);
  world.pass(andAWhile);
  ASSERT_TRUE(*outcome);
  EXPECT_EQ((*outcome)->error().code, LockErrc::storeUnavailable);
  EXPECT_TRUE(world.tryNow(*a, "orders").has_value()) << "nothing is left of it";
}

/// I8: a write without an answer is neither a success nor a failure. The client's next candidacy waits until it is
/// known what became of it.
TEST_F(LockWaits, anAcquisitionThatIsNotAnsweredIsToldAndReleasedLater) {
  for (const Fault fault : {Fault::neverApplied, Fault::neverLost}) {
    const std::string key = fault == Fault::neverApplied ? "applied" : "lost";
    hang(2, fault);
    const auto outcome = world.begin(*a, key, {.waitFor = patience});
    world.pass(patience + andAWhile);
    ASSERT_TRUE(*outcome);
    EXPECT_EQ((*outcome)->error().code, LockErrc::unknown);
    const auto next = world.begin(*a, key, {.waitFor = 30s});
    EXPECT_FALSE(*next);
    world.pass(12s);
    ASSERT_TRUE(*next);
    ASSERT_TRUE((*next)->has_value()) << (*next)->error().message;
    EXPECT_EQ((**next)->fencingToken(), FencingToken{fault == Fault::neverApplied ? 2U : 1U});
    EXPECT_EQ(world.stored(key)->holder, a->candidate());
    world.release(***next);
  }
}

/// The machine has given up by itself, and knows of an unanswered write.
TEST_F(LockWaits, anErrorAfterAnAcquisitionWithoutAnAnswerIsUnknownToo) {
  hang(2, Fault::unknownApplied);
  for (std::size_t call = 3; call < 40; ++call) hang(call, Fault::rejected);
  const auto outcome = world.begin(*a, "orders", {.waitFor = patience});
  world.pass(patience + andAWhile);
  ASSERT_TRUE(*outcome);
  EXPECT_EQ((*outcome)->error().code, LockErrc::unknown);
}

TEST_F(LockWaits, aReleaseOfOnesOwnIsPartOfTheWait) {
  Lock lock = world.acquireNow(*a, "orders");
  hang(1, Fault::neverLost);
  EXPECT_EQ(lock.release({.waitFor = 0ms}), ReleaseResult::unknown);
  const auto outcome = world.begin(*a, "orders", {.waitFor = patience});
  world.pass(patience + andAWhile);
  ASSERT_TRUE(*outcome);
  EXPECT_EQ((*outcome)->error().code, LockErrc::timeout);
  EXPECT_NE((*outcome)->error().message.find("released"), std::string::npos);
}

TEST_F(LockWaits, whoWaitsForAReleaseOfOnesOwnCanBeCancelled) {
  Lock lock = world.acquireNow(*a, "orders");
  hang(1, Fault::neverLost);
  static_cast<void>(lock.release({.waitFor = 0ms}));
  const auto first = world.begin(*a, "orders");
  std::stop_source cancelled = world.pending;
  const auto second = world.begin(*a, "orders");
  cancelled.request_stop();
  world.settle();
  ASSERT_TRUE(*first);
  EXPECT_EQ((*first)->error().code, LockErrc::cancelled);
  EXPECT_FALSE(*second);
  world.pass(12s);
  ASSERT_TRUE(*second);
  EXPECT_TRUE((*second)->has_value()) << "the next in line gets its turn";
}

TEST_F(LockWaits, thoseWhoWaitForAReleaseOfOnesOwnGetTheLockInTurn) {
  Lock lock = world.acquireNow(*a, "orders");
  hang(1, Fault::neverLost);
  static_cast<void>(lock.release({.waitFor = 0ms}));
  std::vector<LockWorld::Outcome> waiters;
  for (int i = 0; i < 3; ++i) waiters.push_back(world.begin(*a, "orders"));
  world.pass(12s);
  for (std::size_t i = 0; i < waiters.size(); ++i) {
    for (std::size_t j = 0; j < waiters.size(); ++j) EXPECT_EQ(waiters[j]->has_value(), j <= i) << i << ' ' << j;
    ASSERT_TRUE(*waiters[i] && (*waiters[i])->has_value());
    world.release(***waiters[i]);
    world.pass(20ms);
  }
}

TEST_F(LockWaits, eachWaitForAReleaseOfOnesOwnHasItsOwnBound) {
  Lock lock = world.acquireNow(*a, "orders");
  hang(1, Fault::neverLost);
  static_cast<void>(lock.release({.waitFor = 0ms}));
  const auto middle = world.begin(*a, "orders", {.waitFor = 600ms});
  const auto last = world.begin(*a, "orders", {.waitFor = 900ms});
  const auto first = world.begin(*a, "orders", {.waitFor = 300ms});
  const auto decided = [&] { return std::vector{first->has_value(), middle->has_value(), last->has_value()}; };
  world.pass(290ms);
  EXPECT_EQ(decided(), (std::vector{false, false, false}));
  world.pass(70ms);
  EXPECT_EQ(decided(), (std::vector{true, false, false}));
  world.pass(230ms);
  EXPECT_EQ(decided(), (std::vector{true, false, false}));
  world.pass(70ms);
  EXPECT_EQ(decided(), (std::vector{true, true, false}));
  world.pass(230ms);
  EXPECT_EQ(decided(), (std::vector{true, true, false}));
  world.pass(70ms);
  EXPECT_EQ(decided(), (std::vector{true, true, true}));
}

/// A client that waits behind others in the line of the process asks the store once itself before its own wait is over.
TEST_F(LockWaits, eachClientInTheLineOfTheProcessHasItsOwnBoundAndLook) {
  const std::unique_ptr<LockClient> b = world.makeClient("b");
  const std::unique_ptr<LockClient> c = world.makeClient("c");
  Lock lock = world.acquireNow(*a, "orders");
  const auto later = world.begin(*b, "orders", {.waitFor = 900ms});
  const auto sooner = world.begin(*c, "orders", {.waitFor = 300ms});
  world.pass(290ms);
  EXPECT_FALSE(*sooner);
  world.pass(70ms);
  ASSERT_TRUE(*sooner);
  EXPECT_FALSE(*later);
  world.pass(530ms);
  EXPECT_FALSE(*later);
  world.pass(70ms);
  ASSERT_TRUE(*later);
  for (const auto& outcome : {later, sooner}) {
    EXPECT_EQ((*outcome)->error().code, LockErrc::timeout) << (*outcome)->error().message;
    ASSERT_TRUE((*outcome)->error().holder) << (*outcome)->error().message;
    EXPECT_EQ((*outcome)->error().holder->holder, a->candidate());
  }
  world.release(lock);
}

/// The store is asked in the time between the success of the acquisition and its report.
TEST_F(LockWaits, whatIsWonInTheMomentOfACancellationIsReleasedAtOnce) {
  world.store->onWatchLoss = [&] { world.pending.request_stop(); };
  const auto outcome = world.begin(*a, "orders");
  world.pass(20ms);
  ASSERT_TRUE(*outcome);
  EXPECT_EQ((*outcome)->error().code, LockErrc::cancelled);
  ASSERT_TRUE(world.stored("orders")) << "it was not won at all";
  EXPECT_TRUE(world.stored("orders")->released);
  world.store->onWatchLoss = nullptr;
  EXPECT_EQ(world.acquireNow(*a, "orders").fencingToken(), FencingToken{2});
}

TEST_F(LockWaits, oneLookEndsAfterFiveSecondsWhateverTheLease) {
  hang(1, Fault::neverLost);
  const auto outcome = world.begin(*a, "orders", {.lease = 1h, .waitFor = 0ms});
  world.pass(4900ms);
  EXPECT_FALSE(*outcome);
  world.pass(1s);
  ASSERT_TRUE(*outcome);
  EXPECT_EQ((*outcome)->error().code, LockErrc::storeUnavailable);
}

/// If the caller was answered before the machine could begin an acquisition, the acquisition is not begun.
TEST_F(LockWaits, whoWasAnsweredAcquiresNothingAnyMore) {
  Lock lock = world.acquireNow(*a, "orders");  // what a client does only once
  world.release(lock);
  const std::size_t before = world.store->calls();
  std::stop_source cancel;
  a->acquireAsync(
      {"fresh"}, {}, [](const LockResult<Lock>&) {}, cancel.get_token());
  cancel.request_stop();  // before the scheduler has run
  world.pass(1s);
  EXPECT_EQ(world.store->calls(), before);
}

}  // namespace
}  // namespace tenure::test
