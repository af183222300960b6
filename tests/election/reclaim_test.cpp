// Preferred leaders (candidate.reclaim_after): when a better candidate asks the leader to step down, and that it does.
#include "election/src/reclaim.hpp"

#include <gtest/gtest.h>

#include <tenure/election/listener.hpp>

#include "election/stage.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

class ReclaimRule : public testing::Test {
 protected:
  [[nodiscard]] static LeaseStatus leads(std::uint64_t token, unsigned priority = 10) {
    LeaseStatus status{LeaseState::candidate, LeaderInfo{"b#1", FencingToken{token}, false, {}, priority}, 0ns};
    return status;
  }
  /// Looks once a second for this long; returns how often it wanted to ask.
  int watch(std::chrono::seconds time, const LeaseStatus& status) {
    int asked = 0;
    for (auto end = now_ + time; now_ != end; now_ = now_ + 1s) asked += rule_.look(now_, status) ? 1 : 0;
    return asked;
  }

  Instant now_{1h, 1h, 1h};
  Reclaim rule_{0, 60s, 6s};
};

TEST_F(ReclaimRule, asksOnceATermWasWatchedForTheWholeTime) {
  EXPECT_EQ(watch(60s, leads(4)), 0);
  const auto asked = rule_.look(now_, leads(4));
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->token, FencingToken{4});
  now_ = now_ + 1s;
  EXPECT_EQ(watch(600s, leads(4)), 0) << "once is enough";
}

TEST_F(ReclaimRule, asksEachTermOnItsOwn) {
  EXPECT_EQ(watch(59s, leads(4)), 0);
  EXPECT_EQ(watch(60s, leads(5)), 0) << "the time of another term does not count";
  EXPECT_EQ(watch(60s, leads(5)), 1);
  EXPECT_EQ(watch(61s, leads(6)), 1);
}

TEST_F(ReclaimRule, aBreakBeginsTheWatchAgain) {
  LeaseStatus stale = leads(4);
  stale.leaderSeenAgo = 7s;
  LeaseStatus unseen = leads(4);
  unseen.leaderSeenAgo = -1ns;
  LeaseStatus busy = leads(4);
  busy.workRunning = true;
  LeaseStatus cooling = leads(4);
  cooling.cooldown = 1ms;
  LeaseStatus leading = leads(4);
  leading.state = LeaseState::leading;
  LeaseStatus unready = leads(4);
  unready.ready = false;
  LeaseStatus nobody = leads(4);
  nobody.leader.reset();
  for (const LeaseStatus& unfit : {stale, unseen, busy, cooling, leading, unready, nobody, leads(4, 0)}) {
    EXPECT_EQ(watch(59s, leads(4)), 0);
    EXPECT_EQ(watch(1s, unfit), 0);
    EXPECT_EQ(watch(1s, leads(4)), 0);
  }
}

TEST_F(ReclaimRule, aTimeInWhichThisProcessDidNotRunDoesNotCount) {
  EXPECT_EQ(watch(30s, leads(4)), 0);
  now_ = now_ + 40s;
  EXPECT_EQ(watch(60s, leads(4)), 0);
  EXPECT_EQ(watch(1s, leads(4)), 1);
}

TEST_F(ReclaimRule, suspendDoesNotCount) {
  EXPECT_EQ(watch(30s, leads(4)), 0);
  now_.boottime += 5s;
  EXPECT_EQ(watch(30s, leads(4)), 0);
  now_.boottime += 5s;
  EXPECT_EQ(watch(1s, leads(4)), 1);
}

TEST_F(ReclaimRule, isAskedAgainOnlyAfterAFailureAndAPause) {
  EXPECT_EQ(watch(61s, leads(4)), 1);
  rule_.failed();
  EXPECT_EQ(watch(5s, leads(4)), 0);
  EXPECT_EQ(watch(1s, leads(4)), 1);
  EXPECT_EQ(watch(600s, leads(4)), 0);
  EXPECT_EQ(watch(1s, leads(4, 0)), 0);
  EXPECT_EQ(watch(600s, leads(4)), 0) << "a watch that began again does not ask again";
}

TEST_F(ReclaimRule, onlyALeaderWithAWorsePriorityIsAsked) {
  LeaseStatus self = leads(4);
  self.leader->self = true;
  LeaseStatus foreign = leads(0);
  LeaseStatus paused = leads(4);
  paused.leader->holder = pauseOwner({"alice@db1", "maintenance"}) + "#1";
  Reclaim middle{10, 60s, 6s};
  for (const LeaseStatus& status : {self, foreign, paused, leads(4, 0)}) {
    EXPECT_FALSE(rule_.concerns(status.leader));
    EXPECT_EQ(watch(120s, status), 0);
  }
  EXPECT_FALSE(middle.concerns(leads(4, 10).leader)) << "as good is not better";
  EXPECT_FALSE(middle.concerns(std::nullopt));
  EXPECT_TRUE(middle.concerns(leads(4, 11).leader));
}

/// Counts requests to step down, and may refuse them or keep their answers.
class AskedStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void requestStepDownFor(const LeaseKey& key, StepDownRequest request, CallOptions options,
                          WriteHandler handler) override {
    ++requests;
    if (throws) throw std::runtime_error{"no"};
    if (refuses) return handler(Rejected{{ErrorClass::transient, "not now"}});
    if (silent) return kept.push_back(std::move(handler));
    ForwardingStore::requestStepDownFor(key, std::move(request), options, std::move(handler));
  }

  int requests{0};
  bool refuses{false};
  bool throws{false};
  bool silent{false};
  std::vector<WriteHandler> kept{};
};

using Elector = std::unique_ptr<LeaderElector, PumpedDelete>;

class Reclaims : public testing::Test {
 protected:
  [[nodiscard]] static Adjust prefers(unsigned priority, std::optional<std::chrono::milliseconds> after = {}) {
    return [=](GroupOptions& options) {
      options.candidate.priority = priority;
      options.candidate.reclaimAfter = after;
    };
  }
  [[nodiscard]] Elector better(const Adjust& adjust) {
    Elector made{new LeaderElector{stage_.group("a", store_, adjust), {}, stage_.runtime()}, {&stage_}};
    made->start();
    stage_.settle();
    return made;
  }

  Stage stage_;
  std::shared_ptr<AskedStore> store_{std::make_shared<AskedStore>(stage_.memory)};
};

TEST_F(Reclaims, aBetterCandidateGetsTheLeaseInOrder) {
  const Candidate b = stage_.leader("b", prefers(10));
  const Elector a = better(prefers(0, 20s));
  stage_.advance(19s);
  EXPECT_TRUE(b->isLeader());
  EXPECT_EQ(a->status().lease.leader->priority, 10U);
  EXPECT_EQ(store_->requests, 0);
  ASSERT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }, 6s));
  EXPECT_EQ(b.record->why().reason, RevokeReason::steppedDown);
  EXPECT_EQ(b.record->why().detail,
            "an operator, or a candidate with a better priority, asked this leader to step down");
  EXPECT_TRUE(stage_.logged("asks b ("));
  stage_.advance(60s);
  EXPECT_EQ(a->status().fencingToken, FencingToken{2}) << "it stays";
  EXPECT_EQ(store_->requests, 1);
}

TEST_F(Reclaims, equalPrioritiesNeverFlap) {
  for (const unsigned priority : {0U, 10U}) {
    Stage stage;
    const Candidate b = stage.leader("b", prefers(priority, 1s));
    const Candidate c = stage.candidate("c", prefers(priority, 1s));
    c->start();
    stage.advance(120s);
    EXPECT_TRUE(b->isLeader());
    EXPECT_EQ(stage.stored()->token, FencingToken{1}) << priority;
  }
}

TEST_F(Reclaims, theWorseOfTwoThatReclaimNeverAsks) {
  const Elector a = better(prefers(5, 1s));
  ASSERT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }));
  const Candidate b = stage_.candidate("b", prefers(10, 1s));
  b->start();
  stage_.advance(120s);
  EXPECT_EQ(stage_.stored()->token, FencingToken{1});
}

TEST_F(Reclaims, aCandidateThatStatesNothingIsTheBest) {
  const Candidate b = stage_.leader("b");
  const Elector a = better(prefers(0, 1s));
  stage_.advance(60s);
  EXPECT_TRUE(b->isLeader());
  EXPECT_EQ(stage_.stored()->data, "") << "priority 0 costs no write";
}

TEST_F(Reclaims, aLeaderThatWasAskedToStepDownWaitsItsTurn) {
  const Elector a = better(prefers(0, 2s));
  ASSERT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }));
  const Candidate b = stage_.candidate("b", prefers(10));
  b->start();
  stage_.advance(1s);
  stage_.memory->requestStepDown(stage_.key, {FencingToken{1}}, {}, [](const WriteOutcome&) {});
  ASSERT_TRUE(stage_.advanceUntil([&] { return b->isLeader(); }));
  EXPECT_GT(a->status().lease.cooldown, 2s);
  stage_.advance(4'900ms);  // its cooldown is a lease of 3 s, and only then it is ready
  EXPECT_EQ(store_->requests, 0);
  EXPECT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }, 5s));
}

TEST_F(Reclaims, aRequestThatFailsIsRepeatedAndTold) {
  const Candidate b = stage_.leader("b", prefers(10));
  store_->refuses = true;
  const Elector a = better(prefers(0, 2s));
  stage_.advance(6s);
  EXPECT_EQ(store_->requests, 1);
  EXPECT_TRUE(stage_.logged("could not ask b ("));
  store_->refuses = false;
  store_->throws = true;
  stage_.advance(6s);
  EXPECT_EQ(store_->requests, 2);
  EXPECT_TRUE(b->isLeader());
  store_->throws = false;
  EXPECT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }, 10s));
  EXPECT_EQ(store_->requests, 3);
}

TEST_F(Reclaims, aLateAnswerFindsTheElectorGone) {
  const Candidate b = stage_.leader("b", prefers(10));
  store_->silent = true;
  {
    const Elector a = better(prefers(0, 2s));
    stage_.advance(30s);
    EXPECT_EQ(store_->requests, 1) << "no answer is no failure";
  }
  ASSERT_EQ(store_->kept.size(), 1U);
  store_->kept.front()(Rejected{{ErrorClass::transient, "late"}});
  stage_.advance(10s);
  EXPECT_TRUE(b->isLeader());
}

TEST_F(Reclaims, whatMakesNoSenseIsRefused) {
  const auto faultOf = [&](const std::function<void(GroupOptions&)>& change) {
    GroupOptions options{.group = "g", .candidate = {.reclaimAfter = 10s}};
    change(options);
    const OptionFaults faults = faultsOf(options);
    return faults.empty() ? std::string{} : faults.front().field + ": " + faults.front().message;
  };
  EXPECT_EQ(faultOf([](GroupOptions&) {}), "");
  EXPECT_EQ(faultOf([](GroupOptions& o) { o.candidate.reclaimAfter = 999ms; }),
            "candidate.reclaimAfter: 999ms is out of range; allowed is 1s to 24h");
  EXPECT_EQ(faultOf([](GroupOptions& o) { o.candidate.reclaimAfter = 25h; }),
            "candidate.reclaimAfter: 90000000ms is out of range; allowed is 1s to 24h");
  EXPECT_EQ(faultOf([](GroupOptions& o) { o.candidate.mode = CandidateMode::observe; }),
            "candidate.reclaimAfter: is for candidates that compete; leave it out where candidate.mode is observe");
  EXPECT_NE(faultOf([](GroupOptions& o) { o.shards.count = 2; }), "");
  EXPECT_NE(faultOf([](GroupOptions& o) { o.shards.names = {"x"}; }), "");
}

}  // namespace
}  // namespace tenure::test
