// A handle is destroyed on its loop's own thread, and the loop right after: nothing of the library uses the loop then.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <tenure/election/async_elector.hpp>
#include <tenure/election/elector_asio.hpp>
#include <tenure/election/leader_elector.hpp>
#include <tenure/election/leader_follower.hpp>
#include <tenure/election/sharded_elector.hpp>
#include <tenure/jobs/singleton_scheduler.hpp>
#include <tenure/lockcore/asio.hpp>
#include <tenure/lockcore/lock_asio.hpp>
#include <tenure/lockcore/lock_client.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "election/stage.hpp"
#include "lockcore/port/extended_store.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr std::chrono::sys_seconds noon = std::chrono::sys_days{std::chrono::March / 1 / 2026} + 12h;

/// A store whose answers wait at a gate while it is shut.
class GatedStore final : public ForwardingStore {
 public:
  GatedStore() : ForwardingStore{makeMemoryStore()} {}

  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    ForwardingStore::read(key, options, gated(std::move(handler)));
  }
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    ForwardingStore::write(std::move(request), options, gated(std::move(handler)));
  }
  void list(std::string prefix, CallOptions options, ListHandler handler) override {
    ForwardingStore::list(std::move(prefix), options, gated(std::move(handler)));
  }
  void ensureSchema(CallOptions options, StatusHandler handler) override {
    if (!isReady) return handler(StoreError{ErrorClass::misconfigured, "another shape"});
    ForwardingStore::ensureSchema(options, std::move(handler));
  }
  std::atomic<bool> isReady{true};
  void shut() {
    const std::lock_guard lock{mutex_};
    shut_ = true;
  }
  /// Answers what has waited; returns how much that was.
  std::size_t open() {
    std::vector<std::function<void()>> waiting;
    {
      const std::lock_guard lock{mutex_};
      shut_ = false;
      waiting.swap(waiting_);
    }
    for (const auto& answer : waiting) answer();
    return waiting.size();
  }
  [[nodiscard]] bool answersWait() const {
    const std::lock_guard lock{mutex_};
    return !waiting_.empty();
  }

 private:
  template <class Outcome>
  std::function<void(Outcome)> gated(std::function<void(Outcome)> handler) {
    return [this, handler = std::move(handler)](Outcome outcome) {
      {
        const std::lock_guard lock{mutex_};
        if (shut_) {
          waiting_.push_back([handler, outcome = std::move(outcome)] { handler(outcome); });
          return;
        }
      }
      handler(std::move(outcome));
    };
  }

  mutable std::mutex mutex_;
  bool shut_{false};
  std::vector<std::function<void()>> waiting_{};
};

class LoopEnd : public testing::Test {
 protected:
  LoopEnd() { makeLoop(); }
  ~LoopEnd() override { endLoop(); }

  [[nodiscard]] Runtime onLoop() const {
    Runtime runtime;
    runtime.scheduler = makeAsioScheduler(io_->get_executor());
    return runtime;
  }
  [[nodiscard]] Group group(unsigned shards = 0, std::chrono::milliseconds lease = 1s) const {
    GroupOptions options{.group = "g", .lease = {.duration = lease}};
    if (shards > 0) options.shards.count = shards;
    return Group::make(std::move(options), store_).value();
  }
  /// Runs it on the loop's thread, and waits for it.
  void onThread(const std::function<void()>& call) {
    std::promise<void> done;
    asio::post(*io_, [&] {
      call();
      done.set_value();
    });
    done.get_future().get();
  }
  /// Stops, joins and destroys the loop, as an application does in its quit handler.
  void endLoop() {
    if (!io_) return;
    io_->stop();
    thread_.join();
    work_.reset();
    io_.reset();
  }
  /// A store's answers are under way when `handle` is destroyed on the loop; they come once the loop is gone.
  template <class Handle>
  void endsWith(std::optional<Handle>& handle, const char* what) {
    store_->shut();
    ASSERT_TRUE(eventually([&] { return store_->answersWait(); })) << what;
    onThread([&] { handle.reset(); });
    endLoop();
    EXPECT_GT(store_->open(), 0U);
    EXPECT_TRUE(eventually([&] { return ended_.expired(); })) << what << " is kept by nothing once its loop is gone";
  }
  /// Lives as long as the handle's object does.
  [[nodiscard]] std::shared_ptr<int> witness() {
    auto made = std::make_shared<int>(0);
    ended_ = made;
    return made;
  }

  void makeLoop() {
    io_ = std::make_unique<asio::io_context>(1);
    work_.emplace(io_->get_executor());
    thread_ = std::thread{[io = io_.get()] { io->run(); }};
  }

  const std::shared_ptr<GatedStore> store_{std::make_shared<GatedStore>()};
  std::unique_ptr<asio::io_context> io_{};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_{};
  std::thread thread_{};
  std::weak_ptr<int> ended_{};
};

TEST_F(LoopEnd, anElectorIsDestroyedOnItAndItRightAfter) {
  Record record;
  Listener listener = record.terms();
  listener.onRenewed = [witness = witness()](const Renewal&) {};
  std::optional<LeaderElector> elector{std::in_place, group(), std::move(listener), onLoop()};
  elector->start();
  ASSERT_TRUE(eventually([&] { return record.count("elected") == 1; }));
  const Leadership term = record.term();
  const std::stop_token stop = term.stopToken();
  endsWith(elector, "an elector");
  EXPECT_TRUE(eventually([&] { return stop.stop_requested(); })) << "its work is told to stop";
  EXPECT_FALSE(term.leads());
}

TEST_F(LoopEnd, aShardedElector) {
  std::atomic<int> owned{0};
  std::optional<ShardedElector> elector{
      std::in_place, group(2),
      ShardListener{.onShardElected = [&, witness = witness()](const Shard&, const Leadership&) { ++owned; }},
      onLoop()};
  elector->start();
  ASSERT_TRUE(eventually([&] { return owned == 2; }));
  endsWith(elector, "a sharded elector");
}

TEST_F(LoopEnd, anAsyncElector) {
  std::optional<AsyncElector> elector{std::in_place, group(), onLoop()};
  std::promise<AwaitedTerm> led;
  elector->whenElected([&](std::optional<AwaitedTerm> term) { led.set_value(*std::move(term)); });
  elector->start();
  const AwaitedTerm term = led.get_future().get();
  whenRevoked(term.leadership(), [witness = witness()](bool) {});
  endsWith(elector, "an awaited elector");
}

TEST_F(LoopEnd, aFollower) {
  std::optional<LeaderFollower> follower{std::in_place, group(), [witness = witness()](const auto&) {}, onLoop()};
  follower->start();
  endsWith(follower, "a follower");
}

TEST_F(LoopEnd, aLockClientWithALock) {
  std::optional<LockClient> client{std::in_place, store_, LockClientOptions{.lease = {.duration = 1s}}, onLoop()};
  std::optional<Lock> lock{client->acquire({"k"}).value()};
  const std::stop_token stop = lock->stopToken();
  lock->onLost([witness = witness()](const TermEnd&) {});
  store_->shut();
  ASSERT_TRUE(eventually([&] { return store_->answersWait(); }));
  onThread([&] {
    client.reset();
    EXPECT_FALSE(lock->isHeld());
    lock.reset();
  });
  endLoop();
  EXPECT_GT(store_->open(), 0U);
  EXPECT_TRUE(eventually([&] { return stop.stop_requested(); })) << "its work is told to stop";
  EXPECT_TRUE(eventually([&] { return ended_.expired(); }));
}

TEST_F(LoopEnd, insideACallbackThatRunsOnIt) {
  Runtime runtime = onLoop();
  runtime.executor = [io = io_.get()](std::function<void()> task) { asio::post(*io, std::move(task)); };
  std::optional<LeaderElector> elector;
  std::promise<void> left;
  elector.emplace(group(),
                  Listener{.onElected =
                               [&](const Leadership&) {
                                 store_->shut();
                                 elector.reset();
                                 left.set_value();
                               }},
                  std::move(runtime));
  elector->start();
  left.get_future().get();
  EXPECT_TRUE(eventually([&] { return store_->answersWait(); })) << "its release is under way";
  endLoop();
  EXPECT_GT(store_->open(), 0U);
}

/// Its executor is asked for nothing once its loop may be gone. Without one, its work runs on threads of the library.
TEST_F(LoopEnd, aSchedulerOfJobsInsideItsOwnWork) {
  asio::thread_pool threads{4};  // onRevoked waits for the run, so it must not be on the loop itself
  for (const bool hasExecutor : {true, false}) {
    if (!io_) makeLoop();
    Runtime runtime = onLoop();
    const auto ended = std::make_shared<std::atomic<bool>>(false), late = std::make_shared<std::atomic<bool>>(false);
    if (hasExecutor) {
      runtime.executor = [&threads, ended, late](std::function<void()> task) {
        ended->load() ? late->store(true) : asio::post(threads, std::move(task));
      };
    }
    std::optional<SingletonScheduler> jobs;
    std::promise<void> left, over;
    const std::shared_future<void> stopped = over.get_future().share();
    std::atomic<int> runs{0};
    ScheduledJob job{"job", Schedule::cron("* * * * *").value()};
    job.work = [&, stopped, kept = witness()](const JobRun&) {
      if (++runs > 1) return;
      store_->shut();
      std::promise<void> stands, goesOn;
      asio::post(*io_, [&] {
        stands.set_value();
        goesOn.get_future().wait();
        io_->stop();  // it ends before it can learn of the stop
      });
      stands.get_future().wait();
      jobs.reset();
      goesOn.set_value();
      left.set_value();
      stopped.wait();
    };
    jobs.emplace(
        group(), std::vector{std::move(job)},
        SingletonScheduler::Options{[looks = std::make_shared<std::atomic<int>>(0)] { return noon + ++*looks * 10s; }},
        std::move(runtime));
    job.work = nullptr;
    jobs->start();
    left.get_future().get();
    ended->store(true);
    endLoop();
    over.set_value();
    store_->open();
    EXPECT_TRUE(eventually([&] { return ended_.expired(); })) << "it is kept by nothing once its loop is gone";
    EXPECT_FALSE(late->load());
    EXPECT_EQ(runs, 1);
  }
}

TEST_F(LoopEnd, aCoroutineOnItOwnsTheElectorAndWaits) {
  std::promise<void> waits;
  asio::co_spawn(
      *io_,
      [&, kept = witness()]() -> asio::awaitable<void> {
        AsyncElector elector{group(), onLoop()};
        elector.start();
        auto term = co_await asyncWaitElected(elector, io_->get_executor(), asio::use_awaitable);
        waits.set_value();
        co_await asyncWaitRevoked(*term, io_->get_executor(), asio::use_awaitable);
      },
      asio::detached);
  waits.get_future().get();
  endLoop();
  EXPECT_TRUE(ended_.expired()) << "the loop has destroyed the coroutine";
}

TEST_F(LoopEnd, anAcquisitionThatIsAwaitedEndsWithItsLoop) {
  LockClient client{store_, {.lease = {.duration = 1s}}};  // on threads of the library, which answer late
  store_->shut();
  bool told = false;
  asio::post(*io_, [&, kept = witness()]() mutable {
    asyncAcquire(client, io_->get_executor(), {"k"}, {},
                 [&told, kept = std::move(kept)](const LockResult<Lock>&) { told = true; });
  });
  ASSERT_TRUE(eventually([&] { return store_->answersWait(); }));
  endLoop();
  EXPECT_TRUE(ended_.expired()) << "the handler is destroyed with its loop";
  EXPECT_GT(store_->open(), 0U);
  client.close();
  EXPECT_FALSE(told);
}

/// The loop has nothing to do any more once the release is acknowledged, so run() returns by itself: not only when a
/// timer of so long a lease would have fired, and also if the check of the schema never succeeded.
TEST_F(LoopEnd, aLoopWithoutOtherWorkEndsAfterTheRelease) {
  Record record;
  store_->isReady = false;
  Runtime runtime = onLoop();
  const auto scheduler = runtime.scheduler;  // for the next elector
  std::optional<LeaderElector> elector{std::in_place, group(0, 10min), record.terms(), std::move(runtime)};
  elector->start();
  ASSERT_TRUE(eventually([&] { return record.count("elected") == 1; }));
  const auto began = std::chrono::steady_clock::now();
  onThread([&] {
    elector.reset();
    work_.reset();
  });
  thread_.join();
  thread_ = std::thread{[] {}};
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s) << "the next check would be after 15 s";
  std::promise<bool> released;
  store_->read(LeaseKey{"g"}, {}, [&](const ReadOutcome& read) { released.set_value(read.value()->released); });
  EXPECT_TRUE(released.get_future().get());
  EXPECT_EQ(record.lines().back(), "revoked 1 stopped");
}

}  // namespace
}  // namespace tenure::test
