// Threads that lend themselves to the shared scheduler.
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <tenure/lockcore/asio.hpp>
#include <tenure/lockcore/scheduler.hpp>

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 30s;

/// True once what was posted before has run.
bool settles(Scheduler& scheduler) {
  const auto ran = std::make_shared<std::promise<void>>();
  scheduler.post([ran] { ran->set_value(); });
  return ran->get_future().wait_for(patience) == std::future_status::ready;
}

class SchedulerGuest : public testing::Test {
 protected:
  /// Tries until nothing else was going on.
  void enterAlone(const std::function<void()>& task) {
    for (bool inside = false; !inside;) {
      const auto here = std::this_thread::get_id();
      std::promise<void> ran;
      scheduler_->enter([&] {
        inside = std::this_thread::get_id() == here;
        if (inside) task();
        ran.set_value();
      });
      ASSERT_EQ(ran.get_future().wait_for(patience), std::future_status::ready);
    }
  }

  std::shared_ptr<Scheduler> scheduler_{sharedScheduler()};
};

TEST_F(SchedulerGuest, runsItsTaskInsideTheCallIfNothingElseGoesOn) {
  ASSERT_TRUE(scheduler_->takesGuests());
  ASSERT_TRUE(settles(*scheduler_));
  bool current = false;
  enterAlone([&] { current = scheduler_->isCurrent(); });
  EXPECT_TRUE(current) << "whoever waits there waits for himself";
  EXPECT_FALSE(scheduler_->isCurrent());
}

TEST_F(SchedulerGuest, waitsItsTurnBehindATaskThatRuns) {
  std::promise<void> running;
  std::promise<void> goOn;
  scheduler_->post([&] {
    running.set_value();
    goOn.get_future().wait();
  });
  running.get_future().wait();
  std::atomic<bool> ran{false};
  std::thread::id where{};
  scheduler_->enter([&] {
    where = std::this_thread::get_id();
    ran = true;
  });
  EXPECT_FALSE(ran) << "and the caller does not wait for it";
  goOn.set_value();
  ASSERT_TRUE(settles(*scheduler_));
  EXPECT_TRUE(ran);
  EXPECT_NE(where, std::this_thread::get_id());
}

TEST_F(SchedulerGuest, whatIsPostedMeanwhileAndTimersWaitForIt) {
  std::vector<int> order;
  std::promise<void> last;
  enterAlone([&] {
    scheduler_->post([&] { order.push_back(2); });
    scheduler_->schedule(0ms, [&] {
      order.push_back(3);
      last.set_value();
    });
    EXPECT_TRUE(order.empty());
    order.push_back(1);
  });
  ASSERT_EQ(last.get_future().wait_for(patience), std::future_status::ready);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST_F(SchedulerGuest, guestsTasksAndTimersNeverOverlap) {
  constexpr int each = 20'000;
  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  int plain = 0;  // ThreadSanitizer sees it if two tasks touch it at once
  const auto task = [&] {
    if (inside.fetch_add(1) != 0) ++overlaps;
    ++plain;
    if (plain % 16 == 0) std::this_thread::yield();  // lets another task in, if there is a way in
    inside.fetch_sub(1);
  };
  const auto enterAll = [&] {
    for (int i = 0; i < each; ++i) scheduler_->enter(task);
  };
  std::thread one{enterAll};
  std::thread other{enterAll};
  for (int i = 0; i < each; ++i) {
    scheduler_->post(task);
    if (i % 100 == 0) scheduler_->post([&] { scheduler_->schedule(100us, task); });
  }
  one.join();
  other.join();
  std::promise<int> total;
  ASSERT_TRUE(settles(*scheduler_));
  scheduler_->post([&] { scheduler_->schedule(20ms, [&] { total.set_value(plain); }); });
  EXPECT_EQ(total.get_future().get(), 3 * each + each / 100);
  EXPECT_EQ(overlaps.load(), 0);
}

TEST_F(SchedulerGuest, aTaskThatPostsForEverKeepsNoTimerWaiting) {
  std::atomic<bool> over{false};
  std::function<void()> again = [&] {
    if (!over) scheduler_->post(again);
  };
  std::promise<void> fired;
  scheduler_->post([&] { scheduler_->schedule(1ms, [&] { fired.set_value(); }); });
  scheduler_->post(again);
  EXPECT_EQ(fired.get_future().wait_for(patience), std::future_status::ready);
  over = true;
  ASSERT_TRUE(settles(*scheduler_));
}

TEST(SchedulerOnALoopOfTheUsers, takesNoGuests) {
  boost::asio::io_context io;
  const auto scheduler = makeAsioScheduler(io.get_executor());
  EXPECT_FALSE(scheduler->takesGuests());
  bool ran = false;
  scheduler->enter([&] { ran = true; });
  EXPECT_FALSE(ran);
  io.run();
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace tenure::test
