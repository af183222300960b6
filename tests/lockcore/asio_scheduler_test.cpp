// The scheduler of the product, on real time: bounds are generous, order is exact.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <gtest/gtest.h>

#include <tenure/lockcore/asio.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "lockcore/child_process.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr auto patience = 30s;

/// Runs `task` on the scheduler and waits for it; false if it did not run.
bool onScheduler(Scheduler& scheduler, const std::function<void()>& task) {
  const auto ran = std::make_shared<std::promise<void>>();
  scheduler.post([task, ran] {
    task();
    ran->set_value();
  });
  return ran->get_future().wait_for(patience) == std::future_status::ready;
}

std::string nameOfThisThread() {
  char name[32]{};
  pthread_getname_np(pthread_self(), name, sizeof name);
  return name;
}

int threadsNamed(const std::string& name) {
  int count = 0;
  for (const auto& thread : std::filesystem::directory_iterator{"/proc/self/task"}) {
    std::string found;
    std::getline(std::ifstream{thread.path() / "comm"}, found);
    count += found == name ? 1 : 0;
  }
  return count;
}

/// Records what ran, and waits until enough has run.
class Journal {
 public:
  void add(int entry) {
    const std::lock_guard lock{mutex_};
    entries_.push_back(entry);
    changed_.notify_all();
  }
  [[nodiscard]] std::vector<int> whenThere(std::size_t count) {
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, patience, [&] { return entries_.size() >= count; });
    return entries_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> entries_;
};

TEST(SharedScheduler, runsTasksInOrderOnItsOneThread) {
  const auto scheduler = sharedScheduler();
  Journal journal;
  std::string name;
  for (int i = 0; i < 100; ++i) scheduler->post([&, i] { journal.add(i); });
  ASSERT_TRUE(onScheduler(*scheduler, [&] { name = nameOfThisThread(); }));
  EXPECT_EQ(name, "tenure-renewal");
  const std::vector<int> ran = journal.whenThere(100);
  ASSERT_EQ(ran.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ran[static_cast<std::size_t>(i)], i);
}

TEST(SharedScheduler, aTaskThatPostsForEverKeepsNoTimerWaiting) {
  const auto scheduler = sharedScheduler();
  std::atomic<bool> over{false};
  std::function<void()> again = [&] {
    if (!over) scheduler->post(again);
  };
  std::promise<void> fired;
  scheduler->post([&] { scheduler->schedule(1ms, [&] { fired.set_value(); }); });
  scheduler->post(again);
  EXPECT_EQ(fired.get_future().wait_for(patience), std::future_status::ready);
  over = true;
  ASSERT_TRUE(onScheduler(*scheduler, [] {}));
}

TEST(SharedScheduler, isOneForAllAndEndsWithTheLastReference) {
  auto first = sharedScheduler();
  auto second = sharedScheduler();
  EXPECT_EQ(first, second);
  const std::weak_ptr<Scheduler> gone = first;
  first.reset();
  EXPECT_FALSE(gone.expired());
  second.reset();
  EXPECT_TRUE(gone.expired());
  const auto anew = sharedScheduler();
  EXPECT_TRUE(onScheduler(*anew, [] {}));
}

TEST(SharedScheduler, runsWhatWasPostedBeforeItEnds) {
  int ran = 0;
  auto scheduler = sharedScheduler();
  for (int i = 0; i < 1000; ++i) scheduler->post([&] { ++ran; });
  scheduler.reset();  // joins the thread
  EXPECT_EQ(ran, 1000);
}

TEST(SharedScheduler, itsLastReferenceMayBeDroppedByATask) {
  std::promise<void> dropped;
  // A caller holds its reference until post() has returned; only then is the task's reference the last one.
  std::promise<void> letGo;
  auto scheduler = sharedScheduler();
  scheduler->post([last = scheduler, letGoByCaller = letGo.get_future().share(), &dropped]() mutable {
    letGoByCaller.wait();
    last.reset();
    dropped.set_value();
  });
  scheduler.reset();
  letGo.set_value();
  ASSERT_EQ(dropped.get_future().wait_for(patience), std::future_status::ready);
  EXPECT_TRUE(onScheduler(*sharedScheduler(), [] {})) << "the next one is not disturbed";
  const auto giveUp = std::chrono::steady_clock::now() + patience;
  while (threadsNamed("tenure-renewal") != 0 && std::chrono::steady_clock::now() < giveUp) std::this_thread::yield();
  EXPECT_EQ(threadsNamed("tenure-renewal"), 0) << "nobody waits for the first one's, which ends nevertheless";
}

TEST(SharedScheduler, knowsItsOwnThread) {
  const auto scheduler = sharedScheduler();
  EXPECT_FALSE(scheduler->isCurrent());
  bool inside = false;
  ASSERT_TRUE(onScheduler(*scheduler, [&] { inside = scheduler->isCurrent(); }));
  EXPECT_TRUE(inside);
  EXPECT_FALSE(scheduler->isCurrent());
}

TEST(SharedScheduler, aPostedTaskDoesNotRunInsideTheCall) {
  const auto scheduler = sharedScheduler();
  std::vector<int> order;
  Journal end;
  ASSERT_TRUE(onScheduler(*scheduler, [&] {
    scheduler->post([&] {
      order.push_back(2);
      end.add(0);
    });
    order.push_back(1);
  }));
  ASSERT_EQ(end.whenThere(1).size(), 1U);
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(Timers, fireInOrderOfTheirTimeAndNeverEarly) {
  const auto scheduler = sharedScheduler();
  Journal journal;
  const Instant before = scheduler->now();
  Instant last{};
  ASSERT_TRUE(onScheduler(*scheduler, [&] {
    scheduler->schedule(500ms, [&] {
      last = scheduler->now();
      journal.add(500);
    });
    scheduler->schedule(100ms, [&] { journal.add(100); });
    scheduler->schedule(300ms, [&] { journal.add(300); });
    scheduler->schedule(0ms, [&] { journal.add(0); });
    scheduler->schedule(-1h, [&] { journal.add(-1); });
    scheduler->schedule(24h, [&] { journal.add(24); });
  }));
  const std::vector<int> ran = journal.whenThere(5);
  ASSERT_EQ(ran.size(), 5U);
  EXPECT_EQ(ran, (std::vector<int>{0, -1, 100, 300, 500})) << "what is due at once keeps its order";
  EXPECT_GE(last.boottime - before.boottime, 500ms);
}

TEST(Timers, aCancelledOneDoesNotFire) {
  const auto scheduler = sharedScheduler();
  Journal journal;
  ASSERT_TRUE(onScheduler(*scheduler, [&] {
    const auto first = scheduler->schedule(10ms, [&] { journal.add(1); });
    const auto second = scheduler->schedule(20ms, [&] { journal.add(2); });
    // The timer before it cancels it, when both may be due.
    const auto third = std::make_shared<Scheduler::TimerId>();
    scheduler->schedule(30ms, [&, third] {
      journal.add(3);
      scheduler->cancel(*third);
    });
    *third = scheduler->schedule(30ms, [&] { journal.add(4); });
    scheduler->schedule(50ms, [&] { journal.add(5); });
    scheduler->cancel(first);
    scheduler->cancel(first);
    scheduler->cancel(second + 1000);
  }));
  EXPECT_EQ(journal.whenThere(3), (std::vector<int>{2, 3, 5}));
}

TEST(Timers, anEarlierOneDoesNotWaitForALaterOne) {
  Journal journal;
  const auto scheduler = sharedScheduler();
  ASSERT_TRUE(onScheduler(*scheduler, [&] {
    scheduler->schedule(1h, [&] { journal.add(60); });
    scheduler->schedule(1ms, [&] { journal.add(1); });
  }));
  EXPECT_EQ(journal.whenThere(1), std::vector<int>{1});
}

TEST(Timers, oneThatIsNeverDueKeepsNoOtherWaiting) {
  Journal journal;
  const auto scheduler = sharedScheduler();
  Scheduler::TimerId never{};
  ASSERT_TRUE(onScheduler(*scheduler, [&] {
    never = scheduler->schedule(std::chrono::nanoseconds::max(), [&] { journal.add(0); });
    scheduler->schedule(1ms, [&] { journal.add(1); });
  }));
  EXPECT_EQ(journal.whenThere(1), std::vector<int>{1});
  EXPECT_TRUE(onScheduler(*scheduler, [&] { scheduler->cancel(never); }));
}

TEST(Timers, aTaskMaySetTheNext) {
  const auto scheduler = sharedScheduler();
  Journal journal;
  int count = 0;
  std::function<void()> tick;
  tick = [&] {
    journal.add(++count);
    if (count < 20) scheduler->schedule(1ms, tick);
  };
  ASSERT_TRUE(onScheduler(*scheduler, [&] { tick(); }));
  EXPECT_EQ(journal.whenThere(20).size(), 20U);
  ASSERT_TRUE(onScheduler(*scheduler, [] {}));  // the last tick has returned
}

class TwoThreads : public testing::Test {
 public:
  TwoThreads() {
    for (std::thread& thread : threads_) thread = std::thread{[this] { io_.run(); }};
  }
  ~TwoThreads() override {
    work_.reset();
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
  }
  TwoThreads(const TwoThreads&) = delete;
  TwoThreads& operator=(const TwoThreads&) = delete;

 protected:
  asio::io_context io_{2};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::thread threads_[2];
};

TEST_F(TwoThreads, tasksOfOneSchedulerNeverOverlap) {
  const auto scheduler = makeAsioScheduler(io_.get_executor());
  constexpr int tasks = 20'000;
  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  int plain = 0;  // ThreadSanitizer notices if two tasks use it at once
  const auto task = [&] {
    if (inside.fetch_add(1) != 0) ++overlaps;
    ++plain;
    if (plain % 16 == 0) std::this_thread::yield();  // lets another task in, if that is possible
    inside.fetch_sub(1);
  };
  std::thread other{[&] {
    for (int i = 0; i < tasks; ++i) scheduler->post(task);
  }};
  for (int i = 0; i < tasks; ++i) scheduler->post(task);
  ASSERT_TRUE(onScheduler(*scheduler, [&] {
    for (int i = 0; i < 100; ++i) scheduler->schedule(std::chrono::microseconds{i * 10}, task);
  }));
  other.join();
  Journal end;
  ASSERT_TRUE(onScheduler(*scheduler, [&] { scheduler->schedule(5ms, [&] { end.add(plain); }); }));
  EXPECT_EQ(end.whenThere(1), std::vector<int>{2 * tasks + 100});
  EXPECT_EQ(overlaps.load(), 0);
}

TEST_F(TwoThreads, theCallersThreadsAreTheSchedulers) {
  const auto onLoop = makeAsioScheduler(io_.get_executor());
  const auto onStrand = makeAsioScheduler(asio::make_strand(io_.get_executor()));
  asio::thread_pool pool{1};
  const auto onPool = makeAsioScheduler(asio::make_strand(pool.get_executor()));
  // As coroutines see their executor, and as one that keeps its loop at work.
  const asio::any_io_executor any = io_.get_executor();
  const auto onAnyStrand = makeAsioScheduler(asio::make_strand(any));
  const auto onTracked = makeAsioScheduler(asio::prefer(any, asio::execution::outstanding_work.tracked));
  std::promise<std::vector<bool>> seen;
  asio::post(io_, [&] {
    seen.set_value({onLoop->isCurrent(), onStrand->isCurrent(), onAnyStrand->isCurrent(), onTracked->isCurrent(),
                    onPool->isCurrent()});
  });
  EXPECT_EQ(seen.get_future().get(), (std::vector<bool>{true, true, true, true, false}));
  EXPECT_FALSE(onLoop->isCurrent());
  EXPECT_FALSE(onAnyStrand->isCurrent());
  EXPECT_FALSE(onTracked->isCurrent());
  EXPECT_FALSE(onStrand->isCurrent());
  bool inside = false;
  ASSERT_TRUE(onScheduler(*onPool, [&] { inside = onPool->isCurrent(); }));
  EXPECT_TRUE(inside);
  pool.join();
}

TEST(OnAThreadPool, runsAndKnowsItsThreads) {
  asio::thread_pool pool{2};
  const auto scheduler = makeAsioScheduler(pool.get_executor());
  EXPECT_FALSE(scheduler->isCurrent());
  Journal journal;
  ASSERT_TRUE(onScheduler(*scheduler, [&] { scheduler->schedule(1ms, [&] { journal.add(scheduler->isCurrent()); }); }));
  EXPECT_EQ(journal.whenThere(1), std::vector<int>{1});
  pool.join();
}

TEST(OnALoop, aSchedulerThatIsGoneFiresNothing) {
  asio::io_context io;
  bool fired = false;
  auto scheduler = makeAsioScheduler(io.get_executor());
  scheduler->post([&] { scheduler->schedule(1ms, [&] { fired = true; }); });
  io.run_one();
  scheduler.reset();
  io.restart();
  io.run();  // ends: nothing keeps the loop alive
  EXPECT_FALSE(fired);
}

/// In a forked child: makes its own scheduler, which runs a task and a timer.
int worksHere(const std::shared_ptr<Scheduler>& parents) {
  const auto own = sharedScheduler();
  if (own == parents) return 1;
  const auto ran = std::make_shared<std::promise<void>>();
  if (!onScheduler(*own, [&] { own->schedule(1ms, [ran] { ran->set_value(); }); })) return 2;
  return ran->get_future().wait_for(patience) == std::future_status::ready ? 0 : 3;
}

TEST(SharedScheduler, aForkedChildGetsItsOwn) {
  EXPECT_EQ(inChild([] { return worksHere(nullptr); }), 0);
}

/// As a child of a pre-forking server does: it goes on with the loop that it has.
TEST(OnALoop, aChildOnTheInheritedLoopRunsNoTaskAndKeepsTheParentsTimer) {
  asio::io_context io;
  const auto scheduler = makeAsioScheduler(io.get_executor());
  int ran = 0;
  scheduler->post([&] { scheduler->schedule(20ms, [&] { ran += 1; }); });
  io.run_one();
  scheduler->post([&] { ran += 10; });
  EXPECT_EQ(inChild([&] {
              io.notify_fork(asio::io_context::fork_child);
              scheduler->post([&] { ran += 100; });
              io.run_for(100ms);
              return ran;
            }),
            0);
  io.run();
  EXPECT_EQ(ran, 11) << "the parent goes on";
}

#if !defined(__SANITIZE_THREAD__)  // ThreadSanitizer lets no child of a process with threads start one
TEST(SharedScheduler, aForkedChildOfOneThatRunsGetsItsOwn) {
  const auto parents = sharedScheduler();
  ASSERT_TRUE(onScheduler(*parents, [] {}));
  EXPECT_EQ(inChild([&] { return worksHere(parents); }), 0);
  EXPECT_TRUE(onScheduler(*parents, [] {})) << "the parent goes on";
}
#endif

}  // namespace
}  // namespace tenure::test
