// A process that forks while all of its threads are inside the library. AddressSanitizer of g++ 12 has locks of its
// own, for which a child may wait for ever, so a child that hangs would say nothing about the library there.
#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/stores/memory_store.hpp>

#include "election/stage.hpp"
#include "fork_world.hpp"
#include "lockcore/child_process.hpp"
#include "support/temp_dir.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

#if !defined(__SANITIZE_ADDRESS__)
class ForkHammer : public testing::Test {
 protected:
  void SetUp() override {
    const auto group = [&](const char* name, unsigned shards = 0) {
      GroupOptions options{.group = name, .lease = {.duration = 3s}};
      if (shards > 0) options.shards.count = shards;
      return Group::make(std::move(options), store_).value();
    };
    world_.elector = std::make_unique<LeaderElector>(group("g"), record_.terms());
    world_.view = world_.elector->view();
    world_.elector->start();
    world_.sharded = std::make_unique<ShardedElector>(group("s", 4));
    world_.shards = world_.sharded->view();
    world_.sharded->start();
    world_.follower = std::make_unique<LeaderFollower>(group("g"));
    world_.follower->start();
    world_.async = std::make_unique<AsyncElector>(group("a"));
    std::promise<AwaitedTerm> awaited;
    world_.async->whenElected([&](std::optional<AwaitedTerm> term) { awaited.set_value(*std::move(term)); });
    world_.async->start();
    world_.awaited = awaited.get_future().get();
    ScheduledJob job{.name = "job", .schedule = Schedule::every(1h).value(), .work = [](const JobRun&) {}};
    world_.jobs = std::make_unique<SingletonScheduler>(group("j"), std::vector{job});
    world_.jobs->start();
    world_.client = std::make_unique<LockClient>(store_);
    world_.lock = world_.client->acquire({"held"}).value();
    world_.observer = world_.client->observe({"held"}).value();
    world_.tokens = std::make_unique<LockTokens>(store_);
    world_.token = world_.tokens->acquire({"token"}).value();
    ASSERT_TRUE(eventually([&] { return record_.count("elected") == 1; }));
    world_.term = record_.term();
    world_.ledger = JobLedger::open(*world_.term, "ledger", Schedule::every(1h).value()).value();
    world_.fence = HttpFence::open({.leases = {"g"}, .memory = folder_.path() / "tokens"}).value();
    std::promise<HttpVerdict> verdict;
    const FencedRequest request{.method = "PUT", .tokenHeaders = 1, .tokenHeader = "g=1"};
    if (auto now = world_.fence->admit(request, [&](HttpVerdict later) { verdict.set_value(std::move(later)); }))
      verdict.set_value(*std::move(now));
    HttpVerdict admitted = verdict.get_future().get();
    ASSERT_TRUE(std::holds_alternative<FencePass>(admitted)) << std::get<HttpProblem>(admitted).body;
    world_.pass = std::get<FencePass>(std::move(admitted));
    world_.listener = ops::HttpListener::start({.listen = "127.0.0.1:0"}).value();
  }

  /// The calls that take a lock, which the parent's threads make.
  [[nodiscard]] std::vector<std::function<void()>> calls() {
    const auto renews = [this] { static_cast<void>(world_.lock->renew()); };
    const auto tries = [this] { static_cast<void>(world_.client->tryAcquire({"other"})); };
    const auto waits = [this] {
      std::stop_source cancel;
      world_.async->whenElected([](const auto&) {}, cancel.get_token());
      whenRevoked(
          world_.awaited->leadership(), [](bool) {}, cancel.get_token());
      cancel.request_stop();
    };
    return {[this] { static_cast<void>(world_.elector->view()); },
            [this] { static_cast<void>(world_.elector->status()); },
            [this] { static_cast<void>(world_.sharded->status()); },
            [this] { static_cast<void>(world_.follower->status()); },
            [this] { static_cast<void>(world_.jobs->status()); },
            [this] { static_cast<void>(world_.ledger->history()); },
            [this] { static_cast<void>(world_.term->stopToken()); },
            [this] { static_cast<void>(world_.lock->data()); },
            [this] { static_cast<void>(world_.lock->stopToken()); },
            [this] { static_cast<void>(world_.client->held()); },
            [this] { static_cast<void>(world_.observer->holder()); },
            [this] { static_cast<void>(world_.tokens->check(*world_.token)); },
            [this] { static_cast<void>(world_.fence->highestSeen("g")); },
            renews,
            tries,
            waits};
  }
  /// Forks again and again while two threads make one of the calls, so that its lock is usually held.
  void hammer(const std::function<int()>& child) {
    const auto all = calls();
    std::atomic<std::size_t> call{0};
    std::atomic<bool> over{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        while (!over) all[call]();
      });
    }
    int wrong = 0;
    for (std::size_t i = 0; i < 8 * all.size() && wrong == 0; ++i) {
      call = i % all.size();
      std::this_thread::yield();
      wrong = inChild(child);
      EXPECT_EQ(wrong, 0) << "a line of fork_calls.cpp; -1: it hung or crashed; the parent was at call " << call;
    }
    over = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(world_.elector->isLeader());
    EXPECT_TRUE(world_.lock->isHeld());
  }

  const std::shared_ptr<LeaseStore> store_{makeMemoryStore()};
  const TempDir folder_;
  Record record_;
  ForkWorld world_;
};

TEST_F(ForkHammer, noCallOfAChildHangsOrBelieves) {
  hammer([&] { return callEverything(world_); });
}

TEST_F(ForkHammer, norOfAChildOfAChild) {
  hammer([&] { return inChild([&] { return callEverything(world_); }); });
}

TEST_F(ForkHammer, norOfAChildThatACallbackForks) {
  std::promise<int> wrong;
  world_.client->acquireAsync({"asked"}, {}, [&](const LockResult<Lock>&) {
    wrong.set_value(inChild([&] { return callEverything(world_); }));
  });
  EXPECT_EQ(wrong.get_future().get(), 0);
}
#endif

}  // namespace
}  // namespace tenure::test
