// Executors that a user may provide (one thread, slow, refusing), and the user's own schedulers.
#include <algorithm>
#include <stdexcept>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <tenure/lockcore/asio.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "election/stage.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

Group group(const std::string& id, const std::shared_ptr<LeaseStore>& store) {
  return Group::make({.group = "executor", .candidate = {.id = id}, .lease = {.duration = 1s}}, store).value();
}

/// An io_context with one thread, as a program would have it.
class Loop {
 public:
  ~Loop() {
    work_.reset();
    thread_.join();
  }
  [[nodiscard]] Executor executor() {
    return [this](std::function<void()> task) { boost::asio::post(io_, std::move(task)); };
  }
  [[nodiscard]] std::thread::id id() const { return thread_.get_id(); }

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{io_.get_executor()};
  std::thread thread_{[this] { io_.run(); }};
};

TEST(Executors, oneThreadOfTheUsersServesManyElectors) {
  Loop loop;
  const auto store = makeMemoryStore();
  Record record;
  std::atomic<bool> elsewhere{false};
  Listener listener = record.terms();
  listener.onElected = [&](const Leadership& term) {
    if (std::this_thread::get_id() != loop.id()) elsewhere = true;
    record.add("elected " + toString(term.fencingToken()));
  };
  std::vector<std::unique_ptr<LeaderElector>> electors;
  for (int i = 0; i < 3; ++i) {
    Runtime runtime;
    runtime.executor = loop.executor();
    electors.push_back(std::make_unique<LeaderElector>(group("c", store), listener, std::move(runtime)));
    electors.back()->start();
  }
  while (!electors.empty()) {
    const auto leading = [&] {
      return std::find_if(electors.begin(), electors.end(), [](const auto& elector) { return elector->isLeader(); });
    };
    ASSERT_TRUE(eventually([&] { return leading() != electors.end(); }));
    if (const auto leader = leading(); leader != electors.end()) electors.erase(leader);
  }
  EXPECT_GE(record.count("elected"), 3);
  EXPECT_EQ(record.count("elected"), record.count("revoked"));
  EXPECT_FALSE(elsewhere);
}

/// The event loop of the program serves as scheduler and as executor, and its handlers stop the elector.
TEST(Executors, stopInAHandlerOfTheUsersOwnLoopReturnsAtOnce) {
  boost::asio::io_context io;
  const auto scheduler = makeAsioScheduler(io.get_executor());
  const auto store = makeMemoryStore(scheduler);
  Record record;
  Runtime runtime;
  runtime.scheduler = scheduler;
  runtime.executor = [&](std::function<void()> task) { boost::asio::post(io, std::move(task)); };
  LeaderElector elector{group("a", store), record.terms(), std::move(runtime)};
  elector.start();
  while (record.count("elected") == 0) io.run_one();
  std::optional<ReleaseResult> result;
  const Instant before = readClock();
  boost::asio::post(io, [&] { result = elector.stop(); });  // as a handler of a signal_set would
  while (!result) io.run_one();
  EXPECT_EQ(result, ReleaseResult::unknown);
  EXPECT_LT(elapsedForHolder(before, readClock()), 2s) << "it waited for itself";
  while (elector.status().lease.state != LeaseState::stopped) io.run_one();
  EXPECT_EQ(record.lines(), (Lines{"elected 1", "revoked 1 stopped"}));
  EXPECT_EQ(elector.stop(), ReleaseResult::released);
}

TEST(Executors, theLoopMayGoRightAfterTheElectorThoughATermIsStillHeld) {
  std::weak_ptr<Scheduler> last;
  std::optional<Leadership> kept;
  Record record;
  Listener listener = record.terms();
  listener.onElected = [&](const Leadership& term) {
    kept = term;
    record.add("elected");
  };
  {
    boost::asio::io_context io;
    auto work = boost::asio::make_work_guard(io);
    auto scheduler = makeAsioScheduler(io.get_executor());
    last = scheduler;
    Runtime runtime;
    runtime.scheduler = std::move(scheduler);
    std::thread loop{[&io] { io.run(); }};
    {
      LeaderElector elector{group("a", makeMemoryStore()), listener, std::move(runtime)};
      elector.start();
      ASSERT_TRUE(eventually([&] { return record.count("revoked") + record.count("elected") > 0; }));
      EXPECT_TRUE(kept->leads());
    }
    io.stop();
    loop.join();
    EXPECT_TRUE(last.expired()) << "somebody may destroy it when the loop is gone";
  }
  EXPECT_FALSE(kept->leads());
  EXPECT_EQ(kept->remaining(), 0ns);
}

TEST(Executors, aSlowOneGetsTheStopTokenBeforeOnElected) {
  Stage stage;
  bool firedBefore = false;
  Record record;
  Listener listener = record.terms();
  listener.onElected = [&](const Leadership& term) {
    firedBefore = term.stopToken().stop_requested();
    record.add("elected");
  };
  const Candidate a = stage.candidateWith("a", std::move(listener));
  a->start();
  for (int i = 0; i < 100 && !a->isLeader(); ++i) stage.clock->advance(10ms);
  ASSERT_TRUE(a->isLeader());
  a.store->setAll(Fault::rejected);
  stage.clock->advance(5s);  // the whole term passes before the executor runs it
  ASSERT_FALSE(a->isLeader());
  a->requestStop();
  stage.clock->runReady();
  ASSERT_TRUE(eventually([&] { return stage.executor->waiting() > 0; }));
  stage.settle();
  EXPECT_EQ(record.lines(), (Lines{"elected", "revoked 1 storeUnreachable"}));
  EXPECT_TRUE(firedBefore || record.count("revoked") == 1);
}

TEST(Executors, oneThatThrowsLosesNoCallback) {
  Stage stage;
  Record record;
  Runtime runtime = stage.runtime();
  runtime.executor = [](const std::function<void()>&) { throw std::runtime_error{"the pool is shut down"}; };
  auto store = std::make_shared<FaultStore>(stage.memory, stage.clock);
  std::unique_ptr<LeaderElector, PumpedDelete> elector{
      new LeaderElector{stage.group("a", store), record.terms(), std::move(runtime)}, {&stage}};
  elector->start();
  ASSERT_TRUE(stage.advanceUntil([&] { return elector->isLeader(); }));
  EXPECT_TRUE(eventually([&] { return record.count("elected") == 1; }));
  elector->requestStop();
  EXPECT_TRUE(eventually([&] {
    stage.settle();
    return record.count("revoked 1 stopped") == 1;
  }));
  EXPECT_TRUE(stage.logged("the pool is shut down"));
}

/// It accepted the task and then threw: the task comes twice, the callback once.
TEST(Executors, oneThatThrowsAfterTakingTheTaskRunsItOnce) {
  Stage stage;
  Record record;
  Runtime runtime = stage.runtime();
  runtime.executor = [run = stage.executor](const std::function<void()>& task) {
    run->post(task);
    throw std::runtime_error{"out of memory for my statistics"};
  };
  auto store = std::make_shared<FaultStore>(stage.memory, stage.clock);
  std::unique_ptr<LeaderElector, PumpedDelete> elector{
      new LeaderElector{stage.group("a", store), record.terms(), std::move(runtime)}, {&stage}};
  elector->start();
  ASSERT_TRUE(stage.advanceUntil([&] { return elector->isLeader(); }));
  elector->requestStop();
  ASSERT_TRUE(eventually([&] {
    stage.settle();
    return elector->status().lease.state == LeaseState::stopped;
  }));
  EXPECT_EQ(record.lines(), (Lines{"elected 1", "revoked 1 stopped"}));
}

}  // namespace
}  // namespace tenure::test
