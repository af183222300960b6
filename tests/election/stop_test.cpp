// Starting, stepping down, stopping: what is given up when, and how long it may take.
#include <future>
#include <optional>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "election/stage.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

class Stop : public testing::Test {
 protected:
  Stage stage_;
};

TEST_F(Stop, nothingIsAskedOfTheStoreBeforeStart) {
  const Candidate a = stage_.candidate("a");
  stage_.advance(10s);
  a->stepDown();
  stage_.settle();
  EXPECT_EQ(a.store->calls(), 0U);
  EXPECT_EQ(a->status().lease.state, LeaseState::idle);
}

TEST_F(Stop, withoutStart) {
  const Candidate a = stage_.candidate("a");
  EXPECT_EQ(a->stop(), ReleaseResult::notHeld);
  EXPECT_EQ(a->stop(), ReleaseResult::notHeld);
  EXPECT_THROW(a->start(), std::logic_error);
  EXPECT_THROW(a->addListener({}), std::logic_error);
  EXPECT_EQ(a.store->calls(), 0U);
}

TEST_F(Stop, startingTwiceIsStartingOnce) {
  const Candidate a = stage_.candidate("a");
  a->start();
  a->start();
  EXPECT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }));
  EXPECT_THROW(a->addListener({}), std::logic_error);
  stage_.stop(a);
  EXPECT_THROW(a->start(), std::logic_error);
  EXPECT_EQ(a.record->count("elected"), 1);
}

TEST_F(Stop, ofALeaderReleases) {
  const Candidate a = stage_.leader("a");
  EXPECT_EQ(stage_.stop(a), ReleaseResult::released);
  EXPECT_EQ(a.record->count("revoked 1 stopped"), 1) << "told before stop() returned";
  EXPECT_TRUE(stage_.stored()->released);
  EXPECT_EQ(stage_.stored()->token, FencingToken{1});
  EXPECT_EQ(a->stop(), ReleaseResult::released) << "the same result again, at once";
}

TEST_F(Stop, ofAStandbyHasNothingToRelease) {
  const Candidate a = stage_.leader("a");
  const Candidate b = stage_.candidate("b");
  b->start();
  stage_.advance(1s);
  EXPECT_EQ(stage_.stop(b), ReleaseResult::notHeld);
  EXPECT_TRUE(b.record->lines().empty()) << "never elected, never revoked";
  const auto calls = b.store->calls();
  stage_.advance(60s);
  EXPECT_EQ(b.store->calls(), calls);
  EXPECT_TRUE(a->isLeader());
}

TEST_F(Stop, ofAHolderThatLostTheRecordReleasesNothing) {
  const Candidate a = stage_.leader("a");
  stage_.usurp("mallory");
  EXPECT_EQ(stage_.stop(a), ReleaseResult::notHeld);
  EXPECT_EQ(stage_.stored()->holder, "mallory");
  EXPECT_FALSE(stage_.stored()->released);
}

TEST_F(Stop, doesNotReleaseUnderWorkThatDoesNotEnd) {
  const Candidate a = stage_.leader("a");
  const Instant asked = stage_.clock->now();
  const auto result = std::async(std::launch::async, [&] { return a->stop(); });
  while (result.wait_for(1ms) != std::future_status::ready) stage_.clock->advance(50ms);  // the executor is stuck
  EXPECT_GE(elapsedForHolder(asked, stage_.clock->now()), 3s);
  EXPECT_EQ(a->stop(), ReleaseResult::notDrained);
  EXPECT_EQ(a.store->calls(Operation::release), 0U);
  EXPECT_FALSE(stage_.stored()->released);
}

TEST_F(Stop, isUnknownIfTheReleaseIsNotAnswered) {
  const Candidate a = stage_.leader("a");
  a.store->set(Operation::release, Fault::neverLost);
  EXPECT_EQ(stage_.stop(a, 50ms), ReleaseResult::unknown);
  EXPECT_FALSE(a->isLeader());
}

TEST_F(Stop, findsThatAReleaseWithoutAnAnswerLanded) {
  const Candidate a = stage_.leader("a");
  a.store->set(Operation::release, Fault::unknownApplied);
  a->requestStop();
  stage_.settle();
  EXPECT_EQ(a.store->calls(Operation::release), 1U);
  EXPECT_EQ(a->status().lease.state, LeaseState::releasing);
  a.store->set(Operation::release, Fault::none);
  EXPECT_EQ(stage_.stop(a, 10ms), ReleaseResult::released);
}

TEST_F(Stop, thatIsOnlyRequestedTellsWhenItIsDone) {
  const Candidate a = stage_.leader("a");
  const auto told = [&](const char* who) {
    return [&, who](ReleaseResult result) { a.record->add(who + std::string{toString(result)}); };
  };
  a->requestStop(told("first "));
  a->requestStop(told("second "));
  EXPECT_EQ(a.record->count("first"), 0) << "never inside the call";
  ASSERT_TRUE(stage_.advanceUntil([&] { return a.record->count("second") == 1; }));
  EXPECT_TRUE(stage_.stored()->released);
  EXPECT_EQ(a.record->lines(),
            (std::vector<std::string>{"elected 1", "revoked 1 stopped", "first released", "second released"}));
  a->requestStop(told("third "));
  EXPECT_EQ(a.record->count("third"), 0) << "as when it was done before";
  stage_.settle();
  EXPECT_EQ(a.record->count("third released"), 1);
  const Candidate b = stage_.candidate("b");
  b->requestStop([&](ReleaseResult result) { b.record->add(std::string{toString(result)}); });
  stage_.settle();
  EXPECT_EQ(b.record->lines(), std::vector<std::string>{"notHeld"}) << "it was never started";
}

TEST_F(Stop, thatIsOnlyRequestedIsToldWhateverItsResult) {
  std::promise<void> workEnds;
  Record record;
  const Candidate a = stage_.threaded(
      "a", {.onElected = [&](const Leadership&) { record.add("elected"), workEnds.get_future().wait(); }});
  a->start();
  ASSERT_TRUE(eventually([&] { return stage_.advance(1ms), record.count("elected") == 1; }));
  a->requestStop([&](ReleaseResult result) { record.add(std::string{toString(result)}); });
  ASSERT_TRUE(eventually([&] { return stage_.advance(100ms), record.count("notDrained") == 1; }));
  workEnds.set_value();
}

TEST_F(Stop, isToldAlsoOfAnElectorThatIsDestroyed) {
  Record record;
  std::optional<LeaderElector> standing{
      std::in_place,
      stage_.group("a", stage_.memory, [](GroupOptions& options) { options.lease = {.duration = 100ms}; }), Listener{},
      [&] {
        Runtime where = stage_.runtime();
        where.executor = {};
        return where;
      }()};
  standing->start();
  standing->requestStop([&](ReleaseResult result) { record.add("standing " + std::string{toString(result)}); });
  standing.reset();  // nobody runs its scheduler meanwhile
  ASSERT_TRUE(eventually([&] { return record.count("standing") == 1; }));
  EXPECT_EQ(record.lines().front(), "standing unknown");
  std::optional<LeaderElector> own{std::in_place, stage_.group("b", stage_.memory), Listener{}, stage_.runtime()};
  own->start();
  stage_.settle();
  own->requestStop([&](ReleaseResult) { own.reset(), record.add("destroyed"); });
  EXPECT_TRUE(stage_.advanceUntil([&] { return record.count("destroyed") == 1; }));
}

/// Whatever hangs, and in any state: stopping takes no longer than the drain timeout and a lease.
TEST_F(Stop, isBoundedWithAStoreThatHangs) {
  for (const bool leading : {false, true}) {
    for (const Fault fault :
         {Fault::neverApplied, Fault::neverLost, Fault::throws, Fault::rejected, Fault::unknownLost}) {
      for (const auto headStart : {0ms, 1ms, 900ms, 1'001ms, 2'000ms}) {
        SCOPED_TRACE(testing::Message() << leading << ' ' << static_cast<int>(fault) << ' ' << headStart.count());
        Stage stage;
        const Candidate a = leading ? stage.leader("a") : stage.candidate("a");
        if (!leading) a->start();
        a.store->setAll(fault);
        stage.advance(headStart);
        a->requestStop();
        const Instant asked = stage.clock->now();
        EXPECT_TRUE(stage.advanceUntil([&] { return a->status().lease.state == LeaseState::stopped; }, 20s));
        EXPECT_LE(elapsedForHolder(asked, stage.clock->now()), 3s + 3s + 1s);
        EXPECT_EQ(a.record->count("elected"), a.record->count("revoked"));
      }
    }
  }
}

TEST_F(Stop, isBoundedByRealTimeIfTheSchedulerStandsStill) {
  const Candidate a = stage_.leader("a", [](GroupOptions& options) { options.lease = {.duration = 100ms}; });
  EXPECT_EQ(a->stop(), ReleaseResult::unknown);  // nobody runs the stage meanwhile
}

TEST_F(Stop, calledByManyThreadsGivesAllTheSameResult) {
  const Candidate a = stage_.leader("a");
  std::vector<std::future<ReleaseResult>> results;
  for (int i = 0; i < 8; ++i) results.push_back(std::async(std::launch::async, [&] { return a->stop(); }));
  EXPECT_EQ(stage_.stop(a), ReleaseResult::released);
  for (auto& result : results) EXPECT_EQ(result.get(), ReleaseResult::released);
  EXPECT_EQ(a.record->count("revoked"), 1);
}

TEST_F(Stop, duringAnAcquisitionReleasesWhatItWins) {
  const Candidate a = stage_.candidate("a");
  a.store->delayBy(500ms);
  a.store->set(Operation::acquire, Fault::answeredLate);
  a->start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return a.store->calls(Operation::acquire) == 1; }));
  EXPECT_EQ(stage_.stop(a, 10ms), ReleaseResult::released);
  EXPECT_TRUE(a.record->lines().empty()) << "a term that nobody was told of needs no end";
  EXPECT_TRUE(stage_.stored()->released);
}

/// A renewal is under way when the stop comes: the release waits for it and nothing is written afterwards.
TEST_F(Stop, neverRevivesARecordThatItReleased) {
  const Candidate a = stage_.leader("a");
  a.store->delayBy(500ms);
  a.store->set(Operation::renew, Fault::answeredLate);
  const auto renewals = a.store->calls(Operation::renew);
  ASSERT_TRUE(stage_.advanceUntil([&] { return a.store->calls(Operation::renew) > renewals; }));
  EXPECT_EQ(stage_.stop(a, 10ms), ReleaseResult::released);
  stage_.advance(60s);
  EXPECT_TRUE(stage_.stored()->released);
}

TEST_F(Stop, steppingDownLetsAnotherWin) {
  const Candidate a = stage_.leader("a");
  const Candidate b = stage_.candidate("b", [](GroupOptions& options) { options.candidate.priority = 25; });
  b->start();
  stage_.settle();
  a->stepDown();
  EXPECT_TRUE(stage_.advanceUntil([&] { return b->isLeader(); }, 1'600ms)) << "half a lease of politeness";
  EXPECT_EQ(a.record->count("elected"), 1);
  stage_.advance(10s);
  EXPECT_TRUE(b->isLeader());
}

TEST_F(Stop, steppingDownAloneMeansNoLeaderForOneLease) {
  const Candidate a = stage_.leader("a");
  a->stepDown();
  stage_.advance(2'999ms);
  EXPECT_EQ(a.record->count("elected"), 1);
  EXPECT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }, 100ms));
}

/// The work outlasts the drain timeout, so nothing is released. When it ends, this candidate still has the lease.
TEST_F(Stop, steppingDownLetsAnotherWinAlsoIfTheWorkEndsLate) {
  const Candidate a = stage_.leader("a");
  const Candidate b = stage_.candidate("b");
  b->start();
  stage_.settle();
  a->stepDown();
  stage_.clock->advance(3'100ms);  // the executor is stuck
  EXPECT_EQ(a->status().lease.state, LeaseState::candidate);
  stage_.settle();
  ASSERT_TRUE(stage_.advanceUntil([&] { return a->isLeader() || b->isLeader(); }));
  EXPECT_TRUE(b->isLeader());
}

}  // namespace
}  // namespace tenure::test
