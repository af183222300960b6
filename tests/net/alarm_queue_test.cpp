#include "lockcore/net/alarm_queue.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/testing/manual_runtime.hpp>

namespace tenure::net {
namespace {

using namespace std::chrono_literals;

struct Bell final : Alarm {
  explicit Bell(std::function<void()> ring) : ring_{std::move(ring)} {}
  void onAlarm() override { ring_(); }
  std::function<void()> ring_;
};

struct AlarmQueueTest : testing::Test {
  std::shared_ptr<test::ManualScheduler> scheduler{std::make_shared<test::ManualScheduler>()};
  AlarmQueue queue{scheduler};
  std::vector<int> rung{};

  /// Only tasks of the scheduler may use the queue.
  void inTask(std::function<void()> task) {
    scheduler->post(std::move(task));
    scheduler->runReady();
  }
};

TEST_F(AlarmQueueTest, ringsInOrderWhenDue) {
  Bell one{[&] { rung.push_back(1); }};
  Bell two{[&] { rung.push_back(2); }};
  inTask([&] {
    queue.set(two, queue.now() + 20ms);
    queue.set(one, queue.now() + 10ms);
  });
  scheduler->advance(9ms);
  EXPECT_TRUE(rung.empty());
  scheduler->advance(1ms);
  EXPECT_EQ(rung, (std::vector{1}));
  scheduler->advance(1s);
  EXPECT_EQ(rung, (std::vector{1, 2}));
}

TEST_F(AlarmQueueTest, oneTimerServesAll) {
  std::vector<std::unique_ptr<Bell>> bells;
  inTask([&] {
    for (int i = 0; i < 100; ++i) {
      bells.push_back(std::make_unique<Bell>([&] { rung.push_back(0); }));
      queue.set(*bells.back(), queue.now() + 10ms + i * 1us);
    }
  });
  EXPECT_EQ(scheduler->timers(), 1U);
  inTask([&] { bells.resize(50); });
  EXPECT_EQ(scheduler->timers(), 1U);
  scheduler->advance(1s);
  EXPECT_EQ(rung.size(), 50U);
  EXPECT_EQ(scheduler->timers(), 0U);
}

TEST_F(AlarmQueueTest, mayBeMovedClearedAndDestroyedByAnother) {
  std::optional<Bell> other;
  Bell cleared{[&] { rung.push_back(3); }};
  Bell first{[&] {
    rung.push_back(1);
    other.reset();
    queue.clear(cleared);
  }};
  other.emplace([&] { rung.push_back(2); });
  Bell moved{[&] { rung.push_back(4); }};
  inTask([&] {
    for (Bell* bell : {&first, &*other, &cleared, &moved}) queue.set(*bell, queue.now() + 5ms);
    queue.set(first, queue.now() + 4ms);
    queue.set(moved, queue.now() + 50ms);
  });
  scheduler->advance(49ms);
  EXPECT_EQ(rung, (std::vector{1}));
  scheduler->advance(1ms);
  EXPECT_EQ(rung, (std::vector{1, 4}));
}

TEST_F(AlarmQueueTest, countsASuspend) {
  Bell one{[&] { rung.push_back(1); }};
  inTask([&] { queue.set(one, queue.now() + 10s); });
  scheduler->suspend(10s);
  scheduler->runReady();
  EXPECT_EQ(rung, (std::vector{1}));
}

}  // namespace
}  // namespace tenure::net
