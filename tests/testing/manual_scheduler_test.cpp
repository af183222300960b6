#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/testing/manual_runtime.hpp>

#include "support/seeded_random.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

TEST(ManualScheduler, runsPostedTasksInOrderAndNeverInsidePost) {
  ManualScheduler scheduler;
  std::string order;
  scheduler.post([&] {
    order += 'a';
    scheduler.post([&] { order += 'c'; });
    order += 'b';
  });
  EXPECT_EQ(order, "");
  EXPECT_EQ(scheduler.runReady(), 2U);
  EXPECT_EQ(order, "abc");
  EXPECT_EQ(scheduler.runReady(), 0U);
}

TEST(ManualScheduler, firesTimersByDueTimeThenIdWithTheClockAtTheDueTime) {
  ManualScheduler scheduler;
  const Instant start = scheduler.now();
  std::vector<std::pair<char, std::chrono::nanoseconds>> fired;
  const auto note = [&](char name) {
    return [&, name] { fired.emplace_back(name, elapsedForChallenger(start, scheduler.now())); };
  };
  scheduler.post([&] {
    scheduler.schedule(30ms, note('d'));
    scheduler.schedule(10ms, note('a'));
    scheduler.schedule(20ms, [&] { scheduler.schedule(0ms, note('c')); });
    scheduler.schedule(20ms, note('b'));
  });
  scheduler.advance(25ms);
  const std::vector<std::pair<char, std::chrono::nanoseconds>> expected{{'a', 10ms}, {'b', 20ms}, {'c', 20ms}};
  EXPECT_EQ(fired, expected);
  EXPECT_EQ(scheduler.now(), start + 25ms);
  EXPECT_EQ(scheduler.untilNextTimer(), std::optional<std::chrono::nanoseconds>{5ms});
}

TEST(ManualScheduler, doesNotFireCancelledTimers) {
  ManualScheduler scheduler;
  bool fired = false;
  scheduler.post([&] {
    const auto id = scheduler.schedule(1ms, [&] { fired = true; });
    scheduler.cancel(id);
    scheduler.cancel(id);
  });
  scheduler.advance(1s);
  EXPECT_FALSE(fired);
  EXPECT_EQ(scheduler.timers(), 0U);
}

TEST(ManualScheduler, suspendMovesOnlyBoottimeAndMakesTimersLate) {
  ManualScheduler scheduler;
  const Instant start = scheduler.now();
  Instant seen{};
  scheduler.post([&] { scheduler.schedule(100ms, [&] { seen = scheduler.now(); }); });
  scheduler.runReady();
  scheduler.suspend(1s);
  EXPECT_EQ(seen, Instant{});
  EXPECT_EQ(elapsedForHolder(start, scheduler.now()), 1s);
  EXPECT_EQ(elapsedForChallenger(start, scheduler.now()), 0s);
  EXPECT_EQ(scheduler.runReady(), 1U);
  EXPECT_EQ(seen, scheduler.now());
}

TEST(ManualScheduler, advancesToTheNextTimerOnlyIfThereIsOne) {
  ManualScheduler scheduler;
  EXPECT_FALSE(scheduler.advanceToNextTimer());
  int fired = 0;
  scheduler.post([&] { scheduler.schedule(7s, [&] { ++fired; }); });
  scheduler.runReady();
  const Instant start = scheduler.now();
  EXPECT_TRUE(scheduler.advanceToNextTimer());
  EXPECT_EQ(fired, 1);
  EXPECT_EQ(scheduler.now(), start + 7s);
}

TEST(ManualScheduler, theLongestTimesThatThereAreAreNotOverAtOnce) {
  ManualScheduler scheduler;
  bool fired = false;
  scheduler.post([&] { scheduler.schedule(std::chrono::nanoseconds::max(), [&] { fired = true; }); });
  scheduler.advance(1h);
  EXPECT_FALSE(fired);
  scheduler.advance(std::chrono::nanoseconds::max());
  EXPECT_TRUE(fired);
}

TEST(ManualScheduler, refusesMisuse) {
  ManualScheduler scheduler;
  EXPECT_THROW(scheduler.schedule(1ms, [] {}), std::logic_error);
  scheduler.post([&] { scheduler.runReady(); });
  EXPECT_THROW(scheduler.runReady(), std::logic_error);
  bool current = false;
  scheduler.post([&] { current = scheduler.isCurrent(); });
  scheduler.runReady();
  EXPECT_TRUE(current);
  EXPECT_FALSE(scheduler.isCurrent());
}

TEST(SeededRandom, isSplitmix64AndReplays) {
  SeededRandom random{1234567};
  // The first outputs of the reference implementation for this seed.
  EXPECT_EQ(random.next(), 6457827717110365317ULL);
  EXPECT_EQ(random.next(), 3203168211198807973ULL);
  EXPECT_EQ(random.next(), 9817491932198370423ULL);
  SeededRandom again{1234567};
  EXPECT_EQ(again.next(), 6457827717110365317ULL);
  EXPECT_NE(again.split(1).next(), again.split(2).next());
  EXPECT_FALSE(again.chance(0.0));
  EXPECT_TRUE(again.chance(1.0));
}

}  // namespace
}  // namespace tenure::test
