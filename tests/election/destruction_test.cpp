// The destructor: what it waits for, how long, and that nothing is called after it.
#include <algorithm>
#include <future>
#include <optional>
#include <stop_token>
#include <thread>

#include <gtest/gtest.h>

#include "election/stage.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

class Destruction : public testing::Test {
 protected:
  Stage stage_;
};

TEST_F(Destruction, ofALeaderIsAStop) {
  Candidate a = stage_.leader("a");
  a.elector.reset();
  EXPECT_EQ(a.record->lines(), (Lines{"elected 1", "revoked 1 stopped"}));
  EXPECT_TRUE(stage_.stored()->released);
}

TEST_F(Destruction, withoutStartAsksNothingOfTheStore) {
  Candidate a = stage_.candidate("a");
  const auto store = a.store;
  a.elector.reset();
  stage_.settle();
  EXPECT_EQ(store->calls(), 0U);
}

TEST_F(Destruction, waitsForACallbackThatIsRunning) {
  for (const bool notice : {false, true}) {
    Stage stage;
    std::promise<void> entered;
    std::promise<void> release;
    std::atomic<bool> left{false};
    const auto block = [&](const auto&) {
      entered.set_value();
      release.get_future().wait();
      left = true;
    };
    Listener listener;
    if (notice) {
      listener.onRenewed = [&, once = false](const Renewal&) mutable {
        if (!std::exchange(once, true)) block(0);
      };
    } else {
      listener.onRevoked = block;
    }
    Candidate a = stage.threaded("a", std::move(listener));
    a->start();
    ASSERT_TRUE(stage.advanceUntil([&] { return a->isLeader(); }));
    stage.advance(1'100ms);
    LeaderElector* raw = a.elector.release();
    std::atomic<bool> destroyed{false};
    std::thread destroyer{[&] {
      delete raw;
      EXPECT_TRUE(left);
      destroyed = true;
    }};
    auto wait = entered.get_future();
    while (wait.wait_for(1ms) != std::future_status::ready) stage.settle();
    for (int i = 0; i < 20; ++i) stage.settle();
    EXPECT_FALSE(destroyed);
    release.set_value();
    EXPECT_TRUE(eventually([&] {
      stage.settle();
      return destroyed.load();
    }));
    destroyer.join();
  }
}

/// If the drain timeout was too short for the work, the destructor still waits for as long as stop() might have taken.
TEST_F(Destruction, waitsForWorkThatEndsAfterTheDrainTimeout) {
  const Adjust brief = [](GroupOptions& options) { options.lease.drainTimeout = 0ms; };
  std::promise<void> release;
  std::atomic<bool> left{false};
  Listener listener;
  listener.onElected = [&](const Leadership&) {
    release.get_future().wait();
    left = true;
  };
  std::atomic<bool> revoked{false};
  listener.onRevoked = [&](const TermEnd&) { revoked = true; };
  Candidate a = stage_.threaded("a", std::move(listener), brief);
  a->start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }));
  LeaderElector* raw = a.elector.release();
  std::thread destroyer{[&] {
    delete raw;
    EXPECT_TRUE(left);
    EXPECT_TRUE(revoked) << "never one without the other";
  }};
  // Stopped without a drain: from here on only the callback delays the destructor.
  EXPECT_TRUE(eventually([&] {
    stage_.settle();
    return stage_.logged("stopped (notDrained)");
  }));
  release.set_value();
  destroyer.join();
}

/// Real time: the work never ends. So the destructor gives up, reports it, and no callback comes any more.
TEST_F(Destruction, doesNotWaitForeverAndThenMutesTheListeners) {
  const Adjust brief = [](GroupOptions& options) { options.lease = {.duration = 100ms}; };
  std::promise<void> release;
  std::atomic<int> revoked{0};
  std::atomic<bool> left{false};
  Listener listener;
  listener.onElected = [&, pending = std::make_shared<std::future<void>>(release.get_future())](const Leadership&) {
    pending->wait();
    left = true;
  };
  listener.onRevoked = [&](const TermEnd&) { ++revoked; };
  Candidate a = stage_.threaded("a", std::move(listener), brief);
  a->start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }));
  a.elector.reset();
  EXPECT_TRUE(stage_.logged("destroyed while"));
  release.set_value();
  ASSERT_TRUE(eventually([&] { return left.load(); }));
  for (int i = 0; i < 20; ++i) stage_.advance(100ms);
  EXPECT_EQ(revoked, 0);
}

/// In a callback it returns at once; the work is told, and no callback begins once the time of the destructor is over.
TEST_F(Destruction, insideACallbackMutesTheListenersAfterTheSameTime) {
  const Adjust brief = [](GroupOptions& options) { options.lease = {.duration = 100ms, .drainTimeout = 0ms}; };
  const std::chrono::nanoseconds bound = 100ms + 1s;
  for (const bool afterItsStop : {false, true}) {
    Stage stage;
    auto owned = std::make_shared<int>(1);
    const std::weak_ptr<int> watch{owned};
    std::atomic<bool> destroyed{false};
    std::atomic<int> revoked{0};
    LeaderElector* raw = nullptr;
    Listener listener;
    listener.onElected = [&, owned](const Leadership&) {
      const auto destroy = [&] { delete raw, destroyed = true; };
      afterItsStop ? raw->requestStop([destroy](ReleaseResult) { destroy(); }) : destroy();
      EXPECT_TRUE(eventually([&] { return destroyed.load(); }));
      const Instant from = readClock();
      EXPECT_TRUE(eventually([&] { return elapsedForHolder(from, readClock()) > bound; }));
    };
    listener.onRevoked = [&](const TermEnd&) { ++revoked; };
    owned.reset();
    Candidate a = stage.threaded("a", std::move(listener), brief);
    raw = a.elector.release();
    raw->start();
    EXPECT_TRUE(eventually([&] { return stage.advance(1ms), watch.expired(); }));
    EXPECT_TRUE(destroyed);
    EXPECT_EQ(revoked, 0);
  }
}

/// Objects that the listeners own are destroyed with the elector, on the thread that destroys it, and not later on
/// another.
TEST_F(Destruction, destroysTheListeners) {
  for (int round = 0; round < 100; ++round) {
    Stage stage;
    auto owned = std::make_shared<int>(1);
    const std::weak_ptr<int> watch{owned};
    Listener listener;
    listener.onRevoked = [owned](const TermEnd&) {};
    owned.reset();
    Candidate a = stage.threaded("a", std::move(listener));
    a->start();
    ASSERT_TRUE(stage.advanceUntil([&] { return a->isLeader(); }));
    std::atomic<bool> gone{false};
    LeaderElector* raw = a.elector.release();
    std::thread destroyer{[&] {
      delete raw;
      gone = watch.expired();
    }};
    ASSERT_TRUE(eventually([&] {
      stage.settle();
      return stage.logged("stopped (released)");
    }));
    destroyer.join();
    EXPECT_TRUE(gone);
    EXPECT_FALSE(stage.logged("destroyed while")) << "a false alarm";
  }
}

/// The program stopped its loop first. Nothing can be written any more, but the work must be told.
TEST_F(Destruction, tellsTheWorkAlsoIfTheSchedulerStandsStill) {
  const Adjust brief = [](GroupOptions& options) { options.lease = {.duration = 100ms}; };
  Record record;
  Candidate a = stage_.threaded("a", record.terms(), brief);
  a->start();
  ASSERT_TRUE(eventually([&] { return stage_.advance(1ms), record.count("elected") == 1; }));
  const Leadership term = record.term();
  ASSERT_TRUE(term.leads());
  delete a.elector.release();  // nobody runs the stage meanwhile
  EXPECT_TRUE(term.stopToken().stop_requested());
  // The lease still runs, because the clock of the stage stands still; but isLeader() must not say so.
  EXPECT_TRUE(term.isValid());
  EXPECT_FALSE(term.leads());
  EXPECT_EQ(term.remaining(), 0ns);
  EXPECT_EQ(record.lines(), (Lines{"elected 1", "revoked 1 stopped"}));
  stage_.settle();
  EXPECT_EQ(record.count("revoked"), 1);
}

/// The work and a stop callback share the one second beyond what stop() may take, which are 1.1 s here.
TEST_F(Destruction, waitsOneSecondMoreAtMostIfTheSchedulerStandsStill) {
  const Adjust brief = [](GroupOptions& options) { options.lease = {.duration = 100ms, .drainTimeout = 0ms}; };
  std::chrono::nanoseconds least = 1h;
  for (int round = 0; round < 3 && least >= 3s; ++round) {  // a busy machine makes a round longer
    Stage stage;
    std::promise<void> release;
    const auto released = release.get_future().share();
    std::atomic<int> working{0};
    const std::function<void()> work = [&] { released.wait(), --working; };
    std::optional<std::stop_callback<std::function<void()>>> onStop;
    Listener listener;
    listener.onElected = [&](const Leadership& term) {
      onStop.emplace(term.stopToken(), work);
      working = 2;
      work();
    };
    Candidate a = stage.threaded("a", std::move(listener), brief);
    a->start();
    ASSERT_TRUE(eventually([&] { return stage.advance(1ms), working == 2; }));
    const auto from = std::chrono::steady_clock::now();
    delete a.elector.release();  // nobody runs the stage meanwhile
    least = std::min<std::chrono::nanoseconds>(least, std::chrono::steady_clock::now() - from);
    EXPECT_EQ(working, 2);
    release.set_value();
    ASSERT_TRUE(eventually([&] { return working == 0; }));
  }
  EXPECT_LT(least, 3s);
}

/// I5: the stop has already ended the term; only the release hangs.
TEST_F(Destruction, tellsNoSecondEndWhileTheReleaseHangs) {
  const Adjust brief = [](GroupOptions& options) { options.lease = {.duration = 100ms}; };
  Record record;
  Candidate a = stage_.threaded("a", record.terms(), brief);
  a->start();
  ASSERT_TRUE(eventually([&] { return stage_.advance(1ms), record.count("elected") == 1; }));
  a.store->set(Operation::release, Fault::neverLost);
  a->requestStop();
  ASSERT_TRUE(eventually([&] {
    stage_.settle();
    return a.store->calls(Operation::release) == 1;
  }));
  delete a.elector.release();  // nobody runs the stage meanwhile
  EXPECT_EQ(record.lines(), (Lines{"elected 1", "revoked 1 stopped"}));
}

/// I5: the destructor has ended the term. While it waits for onRevoked, the loop continues and ends the term too.
TEST_F(Destruction, tellsNoSecondEndIfTheSchedulerGoesOnAgain) {
  const Adjust brief = [](GroupOptions& options) { options.lease = {.duration = 100ms}; };
  std::atomic<int> elected{0};
  std::atomic<int> revoked{0};
  Listener listener;
  listener.onElected = [&](const Leadership&) { ++elected; };
  listener.onRevoked = [&](const TermEnd&) {
    ++revoked;
    stage_.clock->runReady();
  };
  Candidate a = stage_.threaded("a", std::move(listener), brief);
  a->start();
  ASSERT_TRUE(eventually([&] { return stage_.advance(1ms), elected == 1; }));
  delete a.elector.release();
  EXPECT_TRUE(stage_.logged("its scheduler did not run"));
  EXPECT_EQ(revoked, 1);
  stage_.settle();
  EXPECT_EQ(revoked, 1);
}

TEST_F(Destruction, leavesNoTimerAndAsksNothingMore) {
  Candidate a = stage_.leader("a");
  const auto store = a.store;
  a.elector.reset();
  stage_.settle();
  const auto calls = store->calls();
  stage_.advance(60s);
  EXPECT_EQ(store->calls(), calls);
  EXPECT_EQ(stage_.clock->timers(), 0U);
}

}  // namespace
}  // namespace tenure::test
