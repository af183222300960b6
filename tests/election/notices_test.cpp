// onInDoubt, onRenewed, onLeaderChanged and status(): what they report during a term, and in which order.
#include <gtest/gtest.h>

#include "election/stage.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

class Notices : public testing::Test {
 protected:
  Candidate watched(const std::string& name) {
    Candidate candidate = stage_.candidateWith(name, record_.notices());
    candidate->start();
    return candidate;
  }
  Candidate watchedLeader(const std::string& name) {
    Candidate candidate = watched(name);
    EXPECT_TRUE(stage_.advanceUntil([&] { return candidate->isLeader(); }));
    return candidate;
  }
  /// Time passes and the executor does not run, as if an earlier call blocked.
  void advanceBlocked(std::chrono::milliseconds by) {
    for (; by.count() > 0; by -= 10ms) stage_.clock->advance(10ms);
  }

  Stage stage_;
  Record record_;
};

TEST_F(Notices, leaderChangesAreToldInOrder) {
  const Candidate a = watched("a");
  ASSERT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }));
  stage_.usurp("mallory");
  ASSERT_TRUE(stage_.advanceUntil([&] { return record_.count("leader a 3") == 1; }));
  Lines changes;
  for (const std::string& line : record_.lines()) {
    if (!line.starts_with("renewed")) changes.push_back(line);
  }
  EXPECT_EQ(changes, (Lines{"nobody leads", "leader a 1", "leader mallory 2", "leader a 3"}));
}

TEST_F(Notices, aStandbyIsToldOfTheLeaderAndItsEnd) {
  const Candidate a = stage_.leader("a");
  const Candidate b = watched("b");
  stage_.settle();
  EXPECT_EQ(record_.lines(), Lines{"leader a 1"});
  stage_.stop(a);
  ASSERT_TRUE(stage_.advanceUntil([&] { return b->isLeader(); }));
  EXPECT_EQ(record_.lines(), (Lines{"leader a 1", "nobody leads", "leader b 2"}));
}

TEST_F(Notices, aDoubtIsToldOnceAndThenItsEnd) {
  const Candidate a = watchedLeader("a");
  a.store->set(Operation::renew, Fault::rejected);
  stage_.advance(2s);
  EXPECT_GT(a.store->calls(Operation::renew), 3U);
  EXPECT_EQ(record_.count("in doubt"), 1);
  EXPECT_TRUE(a->status().lease.inDoubt);
  EXPECT_TRUE(a->isLeader());
  a.store->set(Operation::renew, Fault::none);
  stage_.advance(2s);
  EXPECT_EQ(record_.count("renewed 1 after doubt"), 1);
  EXPECT_FALSE(a->status().lease.inDoubt);
}

TEST_F(Notices, aDoubtSaysWhatIsWrongAndHowLongIsLeft) {
  std::optional<Doubt> told;
  std::chrono::nanoseconds left{};
  Candidate a;
  Listener listener;
  listener.onInDoubt = [&](const Doubt& doubt) {
    told = doubt;
    left = a->remaining();
  };
  a = stage_.candidateWith("a", std::move(listener));
  a->start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }));
  a.store->set(Operation::renew, Fault::rejected);
  ASSERT_TRUE(stage_.advanceUntil([&] { return told.has_value(); }));
  EXPECT_EQ(told->error.message, "injected fault");
  EXPECT_EQ(told->remaining, left);
  EXPECT_GT(left, 1s);
}

TEST_F(Notices, renewalsDuringABlockedCallAreToldOnce) {
  const Candidate a = watchedLeader("a");
  advanceBlocked(10s);
  EXPECT_GE(a.store->calls(Operation::renew), 9U);
  stage_.settle();
  EXPECT_EQ(record_.count("renewed"), 1);
}

TEST_F(Notices, aDoubtDuringABlockedCallIsToldBeforeTheRenewalThatEndedIt) {
  const Candidate a = watchedLeader("a");
  advanceBlocked(1'500ms);  // a renewal waits to be reported
  a.store->set(Operation::renew, Fault::rejected);
  advanceBlocked(1'000ms);
  a.store->set(Operation::renew, Fault::none);
  advanceBlocked(3'000ms);
  stage_.settle();
  EXPECT_EQ(record_.lines(), (Lines{"nobody leads", "leader a 1", "renewed 1", "in doubt", "renewed 1 after doubt"}));
}

TEST_F(Notices, aCallThatNeverReturnsDoesNotPileThemUp) {
  const Candidate a = watchedLeader("a");
  for (int doubt = 0; doubt < 500; ++doubt) {
    a.store->set(Operation::renew, Fault::rejected);
    advanceBlocked(1'100ms);
    a.store->set(Operation::renew, Fault::none);
    advanceBlocked(500ms);
  }
  EXPECT_TRUE(a->isLeader());
  stage_.settle();
  EXPECT_LE(record_.lines().size(), 70U);
  EXPECT_EQ(record_.lines().back(), "renewed 1 after doubt");
  EXPECT_TRUE(stage_.logged("notices are dropped"));
}

TEST_F(Notices, whatNobodyListensToCostsTheExecutorNothing) {
  const Candidate a = stage_.leader("a");  // its record is told of terms only
  advanceBlocked(10s);
  EXPECT_EQ(stage_.executor->waiting(), 0U);
}

TEST_F(Notices, aBlockedOnElectedDoesNotHoldThemUp) {
  std::promise<void> release;
  Listener listener = record_.notices();
  listener.onElected = [&](const Leadership&) { release.get_future().wait(); };
  const Candidate a = stage_.threaded("a", std::move(listener));
  a->start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }));
  stage_.advance(1'100ms);
  EXPECT_TRUE(eventually([&] { return record_.count("renewed 1") == 1; }));
  release.set_value();
}

TEST_F(Notices, statusTellsTheStandbyWhoLeads) {
  const Candidate a = stage_.leader("a");
  const Candidate b = stage_.candidate("b");
  ElectorStatus status = b->status();
  EXPECT_EQ(status.lease.state, LeaseState::idle);
  EXPECT_LT(status.lease.leaderSeenAgo, 0ns);
  EXPECT_LT(status.lease.lastErrorAgo, 0ns);

  b->start();
  stage_.advance(1'010ms);
  b.store->set(Operation::read, Fault::rejected);
  stage_.advance(1'500ms);
  status = b->status();
  EXPECT_EQ(status.group, "stage");
  EXPECT_EQ(status.candidate, b->candidate());
  EXPECT_TRUE(status.candidate.starts_with("b#"));
  EXPECT_EQ(status.store, "memory (single process)");
  EXPECT_FALSE(status.fencingToken);
  EXPECT_EQ(status.remaining, 0ns);
  EXPECT_EQ(status.lease.state, LeaseState::candidate);
  EXPECT_EQ(status.lease.leader, (LeaderInfo{a->candidate(), FencingToken{1}, false}));
  EXPECT_GT(status.lease.leaderSeenAgo, 1s);
  EXPECT_LT(status.lease.leaderSeenAgo, 3s);
  ASSERT_TRUE(status.lease.lastError);
  EXPECT_EQ(status.lease.lastError->message, "injected fault");
  EXPECT_GE(status.lease.lastErrorAgo, 0ns);
  EXPECT_EQ(status.lease.terms, 0U);
}

TEST_F(Notices, statusTellsTheTermOfTheLeader) {
  const Candidate a = stage_.leader("a");
  ElectorStatus status = a->status();
  EXPECT_EQ(status.lease.state, LeaseState::leading);
  EXPECT_EQ(status.fencingToken, FencingToken{1});
  EXPECT_EQ(status.remaining, a->remaining());
  EXPECT_TRUE(status.lease.leader->self);
  EXPECT_TRUE(status.lease.workRunning);
  EXPECT_EQ(status.lease.terms, 1U);

  a->requestStop();
  stage_.clock->runReady();  // the executor does not run: onRevoked has not returned
  status = a->status();
  EXPECT_EQ(status.lease.state, LeaseState::draining);
  EXPECT_FALSE(status.fencingToken);
  EXPECT_TRUE(status.lease.workRunning);
  stage_.settle();
  EXPECT_FALSE(a->status().lease.workRunning);
  EXPECT_EQ(a->status().lease.state, LeaseState::stopped);
}

/// A candidate warms up between the call and its election.
TEST_F(Notices, aVacancyIsToldToACandidateBeforeItsElection) {
  const Candidate a = stage_.leader("a");
  std::vector<std::chrono::nanoseconds> told;
  bool toldFirst = false;
  Listener listener;
  listener.onVacancyExpected = [&](std::chrono::nanoseconds remaining) { told.push_back(remaining); };
  listener.onElected = [&](const Leadership& /*term*/) { toldFirst = told.size() == 1; };
  const Candidate b = stage_.candidateWith("b", std::move(listener));
  b->start();
  stage_.advance(30s);
  EXPECT_TRUE(told.empty()) << "the leader renews";
  a->setReady(false);  // it leads on, and does not come back
  a.store->set(Operation::renew, Fault::rejected);
  ASSERT_TRUE(stage_.advanceUntil([&] { return b->isLeader(); }));
  stage_.settle();
  EXPECT_TRUE(toldFirst);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_GT(told[0], 300ms);
  EXPECT_LE(told[0], 1'600ms) << "half of the lease of three seconds, and a little politeness";
}

TEST_F(Notices, aReleaseIsToldAsAVacancyThatIsThere) {
  const Candidate a = stage_.leader("a");
  std::vector<std::chrono::nanoseconds> told;
  Listener listener;
  listener.onVacancyExpected = [&](std::chrono::nanoseconds remaining) { told.push_back(remaining); };
  const Candidate b = stage_.candidateWith("b", std::move(listener));
  b->setReady(false);
  b->start();
  stage_.settle();
  stage_.stop(a);
  ASSERT_TRUE(stage_.advanceUntil([&] { return !told.empty(); })) << "one that is not ready is told, too";
  EXPECT_LT(told[0], 100ms);
  EXPECT_FALSE(b->isLeader());
}

}  // namespace
}  // namespace tenure::test
