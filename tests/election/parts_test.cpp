// The inner parts of the elector: lanes, threads, the queue of notices.
#include <latch>
#include <thread>

#include <gtest/gtest.h>

#include "election/src/notice_queue.hpp"
#include "election/stage.hpp"
#include "lockcore/runtime/callback_lane.hpp"
#include "lockcore/runtime/thread_pool.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

TEST(CallbackLane, runsTasksInOrderAndNeverTwoAtATime) {
  ThreadPool pool{"test"};
  const auto lane = std::make_shared<CallbackLane>([&](std::function<void()> task) { pool.post(std::move(task)); });
  std::atomic<int> inside{0};
  std::atomic<bool> overlapped{false};
  std::vector<int> order;
  for (int i = 0; i < 1'000; ++i) {
    lane->post([&, i] {
      if (++inside != 1) overlapped = true;
      EXPECT_TRUE(lane->isCurrent());
      order.push_back(i);
      --inside;
    });
  }
  EXPECT_FALSE(lane->isCurrent());
  EXPECT_TRUE(lane->waitIdle(30s));
  EXPECT_FALSE(overlapped);
  EXPECT_EQ(order.size(), 1'000U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(CallbackLane, runsATaskOnceIfTheExecutorRunsItTwice) {
  std::vector<std::function<void()>> handed;
  const auto lane = std::make_shared<CallbackLane>([&](const std::function<void()>& task) { handed.push_back(task); });
  int ran = 0;
  lane->post([&] {
    ++ran;
    handed.front()();  // also from inside
  });
  handed.front()();
  handed.front()();
  EXPECT_EQ(ran, 1);
  lane->post([&] { ++ran; });
  handed.front()();  // a late copy of the first
  EXPECT_EQ(ran, 1);
  handed.back()();
  EXPECT_EQ(ran, 2);
}

TEST(CallbackLane, livesAsLongAsItHasWork) {
  ManualExecutor executor;
  bool ran = false;
  {
    const auto lane =
        std::make_shared<CallbackLane>([&](std::function<void()> task) { executor.post(std::move(task)); });
    lane->post([&] { ran = true; });
    EXPECT_FALSE(lane->waitIdle(0ns));
  }
  executor.run();
  EXPECT_TRUE(ran);
}

TEST(ThreadPool, aBlockedTaskHoldsUpNoOther) {
  constexpr int blocked = 20;
  ThreadPool pool{"test"};
  std::latch together{blocked};
  std::atomic<int> done{0};
  for (int i = 0; i < blocked; ++i) {
    pool.post([&] {
      together.arrive_and_wait();  // none returns before all have begun
      ++done;
    });
  }
  EXPECT_TRUE(eventually([&] { return done == blocked; }));
  EXPECT_LE(pool.threads(), blocked + 2);
}

TEST(ThreadPool, aBurstOfShortTasksNeedsFewThreads) {
  ThreadPool pool{"test"};
  std::atomic<int> done{0};
  int most = 0;
  for (int i = 0; i < 2'000; ++i) {
    pool.post([&] { ++done; });
    most = std::max(most, pool.threads());
  }
  EXPECT_TRUE(eventually([&] { return done == 2'000; }));
  EXPECT_LE(most, 100) << "one thread for each task";
}

TEST(ThreadPool, tasksOutliveThePool) {
  std::atomic<bool> ran{false};
  std::promise<void> release;
  {
    ThreadPool pool{"test"};
    pool.post([&] {
      release.get_future().wait();
      ran = true;
    });
  }
  EXPECT_FALSE(ran);
  release.set_value();
  EXPECT_TRUE(eventually([&] { return ran.load(); }));
}

Notice doubt() { return Doubt{{ErrorClass::transient, "doubt"}, 1s}; }
Notice renewal(std::uint64_t token, bool afterDoubt = false) { return Renewal{FencingToken{token}, afterDoubt}; }

TEST(NoticeQueue, asksForARunOnlyWhileNobodyEmptiesIt) {
  NoticeQueue queue;
  EXPECT_TRUE(queue.push(doubt()).mustRun);
  EXPECT_FALSE(queue.push(doubt()).mustRun);
  EXPECT_TRUE(queue.pop());
  EXPECT_FALSE(queue.push(doubt()).mustRun);
  EXPECT_TRUE(queue.pop());
  EXPECT_TRUE(queue.pop());
  EXPECT_FALSE(queue.push(doubt()).mustRun) << "the last one is being told";
  EXPECT_TRUE(queue.pop());
  EXPECT_FALSE(queue.pop());
  EXPECT_TRUE(queue.push(doubt()).mustRun);
}

TEST(NoticeQueue, joinsRenewalsOfOneTermOnlyIfNothingWasSaidBetween) {
  NoticeQueue queue;
  queue.push(renewal(1));
  queue.push(renewal(1, true));
  queue.push(renewal(1));
  queue.push(doubt());
  queue.push(renewal(1, true));
  queue.push(renewal(2));
  const auto first = std::get<Renewal>(queue.pop().value());
  EXPECT_TRUE(first.afterDoubt);
  EXPECT_TRUE(std::holds_alternative<Doubt>(queue.pop().value()));
  EXPECT_TRUE(std::get<Renewal>(queue.pop().value()).afterDoubt);
  EXPECT_EQ(std::get<Renewal>(queue.pop().value()).token, FencingToken{2});
  EXPECT_FALSE(queue.pop());
}

TEST(NoticeQueue, dropsTheOldestAndSaysSoOnce) {
  NoticeQueue queue;
  int said = 0;
  for (std::uint64_t i = 1; i <= NoticeQueue::maxWaiting + 10; ++i) said += queue.push(renewal(i)).beganToDrop ? 1 : 0;
  EXPECT_EQ(said, 1);
  EXPECT_EQ(std::get<Renewal>(queue.pop().value()).token, FencingToken{11});
}

}  // namespace
}  // namespace tenure::test
