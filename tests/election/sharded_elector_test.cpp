// The sharded election, end to end, on a manual clock.
#include <map>
#include <unistd.h>

#include "election/sharded_group.hpp"
#include "lockcore/port/random_draws.hpp"
#include "support/seeded_random.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using Spread = std::vector<std::size_t>;

/// With both ways in which a store may keep a group's leases.
class ShardedElectorTest : public ShardedGroup, public testing::WithParamInterface<bool> {
 protected:
  ShardedElectorTest() : ShardedGroup{12, GetParam()} {}
};

INSTANTIATE_TEST_SUITE_P(Keys, ShardedElectorTest, testing::Bool());

TEST_P(ShardedElectorTest, OneCandidateOwnsEveryShardEachWithATokenOfItsOwn) {
  const Candidate& a = join("a");
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }, 5s));
  EXPECT_EQ(count("elected a"), 12);
  for (std::size_t shard = 0; shard < 12; ++shard) EXPECT_TRUE(a.elector->owns(shard));
  EXPECT_FALSE(a.elector->owns(12));
  const ShardedStatus status = a.elector->status();
  EXPECT_EQ(status.owned.size(), 12U);
  EXPECT_EQ(status.owned.front().shard, (Shard{0, "0"}));
  EXPECT_EQ(status.owned.front().fencingToken, FencingToken{1});
  ASSERT_TRUE(advanceUntil([&] { return a.elector->status().unowned == 0; }));
  EXPECT_EQ(a.elector->status().members, std::vector<std::string>{a.elector->candidate()});
  EXPECT_EQ(status.lastError, std::nullopt);
}

TEST_P(ShardedElectorTest, CandidatesThatStartTogetherShareTheShardsAndNothingMoves) {
  for (const char* name : {"a", "b", "c", "d", "e"}) join(name);
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }, 10s));
  advance(30s);
  EXPECT_TRUE(isEven());
  EXPECT_EQ(count("elected"), 12);
  EXPECT_EQ(count("revoked"), 0);
}

TEST_P(ShardedElectorTest, ANewcomerGetsItsShareByPoliteHandOversOfTheNecessaryShardsOnly) {
  join("a");
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  join("b");
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  EXPECT_EQ(spread(), (Spread{6, 6}));
  advance(30s);
  EXPECT_EQ(count("revoked"), 6);
  for (const std::string& line : lines()) {
    EXPECT_TRUE(line.starts_with("elected") || line.ends_with("steppedDown")) << line;
  }
  join("c");
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  advance(30s);
  EXPECT_EQ(count("revoked"), 10);
}

TEST_P(ShardedElectorTest, AStopThatIsOnlyRequestedTellsWhenItIsDone) {
  Candidate& a = join("a");
  ASSERT_TRUE(advanceUntil([&] { return unowned() == 0; }));
  std::vector<ReleaseResult> told;
  const auto note = [&](ReleaseResult result) { told.push_back(result); };
  a.elector->requestStop(note);
  EXPECT_TRUE(told.empty()) << "never inside the call";
  ASSERT_TRUE(advanceUntil([&] { return !told.empty(); }));
  EXPECT_TRUE(a.elector->owned().empty());
  EXPECT_EQ(a.elector->stop(), ReleaseResult::released);
  a.elector->requestStop(note);
  settle();
  EXPECT_EQ(told, (std::vector<ReleaseResult>{ReleaseResult::released, ReleaseResult::released}));
  ShardedElector never{group("never", a.link), {}, runtime()};
  never.requestStop(note);
  settle();
  EXPECT_EQ(told.back(), ReleaseResult::notHeld);
}

TEST_P(ShardedElectorTest, WhatALeaverReleasesIsTakenAtTheNextLook) {
  join("a");
  Candidate& b = join("b");
  join("c");
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  leave(b);
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }, 600ms));
  EXPECT_EQ(count("revoked"), 4) << "the leaver's own";
}

TEST_P(ShardedElectorTest, ACrashedMembersShardsAreOwnedAgainWithinALeaseAndASecond) {
  join("a");
  Candidate& b = join("b");
  join("c");
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  advance(7s);
  crash(b);
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }, 4s));
  EXPECT_EQ(count("elected"), 16);
  advance(30s);
  EXPECT_EQ(count("elected"), 16) << "only what the dead one left has moved";
}

// Otherwise it would assign shards to the dead until their leases have run out, and others would take what it left.
TEST_P(ShardedElectorTest, ANewcomerAfterACrashDoesNotReckonWithTheDead) {
  join("a");
  join("b");
  Candidate& c = join("c");
  Candidate& d = join("d");
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  advance(7s);
  crash(c);
  crash(d);
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }, 4s));
  advance(5s);
  const int before = count("revoked");
  join("e");
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }, 2900ms)) << "before it could know by itself who is dead";
  advance(40s);
  EXPECT_EQ(count("revoked"), before + 4);
}

TEST_P(ShardedElectorTest, ThePartedMemberLosesItsShardsAndGetsItsShareBackPolitely) {
  join("a");
  Candidate& b = join("b");
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  b.link->cut = true;
  ASSERT_TRUE(advanceUntil([&] { return spread() == Spread{12, 0}; }, 5s));
  EXPECT_EQ(b.elector->status().lastError->message, "no connection");
  advance(20s);
  b.link->cut = false;
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  EXPECT_EQ(count("revoked a"), 6);
  EXPECT_EQ(count("revoked b"), 6);
}

TEST_P(ShardedElectorTest, AShortOutageForAllMovesNothing) {
  join("a");
  join("b");
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  for (auto& candidate : candidates_) candidate->link->cut = true;
  advance(1500ms);
  for (auto& candidate : candidates_) candidate->link->cut = false;
  advance(30s);
  EXPECT_TRUE(isEven());
  EXPECT_EQ(count("elected"), 12);
}

/// The listing shows the group before the newcomer came, which by now has half of the shards.
TEST_P(ShardedElectorTest, AListingThatArrivesAfterANewerOneCountsForNothing) {
  Candidate& a = join("a");
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  a.link->holdsNextList = true;
  ASSERT_TRUE(advanceUntil([&] { return bool{a.link->late}; }));
  join("b");
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  advance(5s);
  clock_->advance(10ms);
  const ShardedStatus before = a.elector->status();
  ASSERT_EQ(before.members.size(), 2U);
  ASSERT_GT(before.listedAgo, 0ns);
  a.link->late();
  settle();
  const ShardedStatus after = a.elector->status();
  EXPECT_EQ(after.members, before.members);
  EXPECT_EQ(after.listedAgo, before.listedAgo);
  const int revoked = count("revoked");
  advance(20s);
  EXPECT_EQ(count("revoked"), revoked) << "nothing moves for it";
}

TEST_P(ShardedElectorTest, NobodyHasMoreThanItsLimit) {
  const auto atMostThree = [](GroupOptions& options) { options.shards.maxLeases = 3; };
  join("a", atMostThree);
  const Candidate& b = join("b", atMostThree);
  advance(30s);
  EXPECT_EQ(spread(), (Spread{3, 3}));
  EXPECT_EQ(b.elector->status().unowned, 6U);
  join("c");
  ASSERT_TRUE(advanceUntil([&] { return spread() == Spread{3, 3, 6}; }));
  EXPECT_EQ(count("revoked"), 0);
}

TEST_P(ShardedElectorTest, ThePreferredHasTheOneMoreButTakesNothingByForce) {
  const auto second = [](GroupOptions& options) {
    options.candidate.priority = 1;
    options.shards.count = 5;
  };
  const auto first = [](GroupOptions& options) { options.shards.count = 5; };
  shards_ = 5;
  join("a", second);
  join("b", first);
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  EXPECT_EQ(spread(), (Spread{2, 3}));
  Candidate& c = join("c", first);
  ASSERT_TRUE(advanceUntil([&] { return isEven() && spread() == Spread{2, 2, 1}; }));
  leave(c);
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  EXPECT_EQ(spread(), (Spread{2, 3})) << "at a polite hand-over it goes first";
}

TEST_P(ShardedElectorTest, AShardWhoseLeaderAnOperatorAsksToResignGoesToAnotherMember) {
  const Candidate& a = join("a");
  join("b");
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  const OwnedShard asked = a.elector->owned().front();
  memory_->requestStepDown(keys().keyOf(asked.shard.name), {asked.fencingToken}, {}, [](const WriteOutcome&) {});
  ASSERT_TRUE(advanceUntil([&] { return candidates_[1]->elector->owns(asked.shard.index); }, 20s));
  EXPECT_EQ(count("revoked a " + asked.shard.name + " 1 steppedDown"), 1);
}

TEST_P(ShardedElectorTest, AMemberThatCannotAcquireLeavesNoShardUnowned) {
  join("a").link->refusesTakes = true;
  join("b");
  ASSERT_TRUE(advanceUntil([&] { return spread() == Spread{0, 12}; }, 30s));
}

TEST_P(ShardedElectorTest, I5_ElectedAndRevokedAlternateForEachShardWhateverComesAndGoes) {
  SeededRandom random{11};
  for (int i = 0; i < 4; ++i) join("c" + std::to_string(i));
  for (int step = 0; step < 40; ++step) {
    Candidate& one = *candidates_[random.below(4)];
    one.link->cut = random.chance(0.5);
    advance(uniform(random, 3s));
  }
  for (auto& candidate : candidates_) candidate->link->cut = false;
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  std::map<std::string, std::string> last;  // for each candidate and shard
  std::map<std::string, int> tokens;
  for (const std::string& line : lines()) {
    const std::string what = line.substr(0, 7);
    const std::string who = line.substr(8, line.find(' ', line.find(' ', 8) + 1) - 8);
    EXPECT_NE(last[who], what) << line;
    const bool elected = what == "elected";
    EXPECT_TRUE(elected || !last[who].empty()) << line;
    last[who] = what;
    const std::string shard = who.substr(who.find(' ') + 1);
    const int token = std::stoi(line.substr(8 + who.size() + 1));
    EXPECT_TRUE(!elected || token > tokens[shard]) << line;
    if (elected) tokens[shard] = token;
  }
}

TEST_P(ShardedElectorTest, I9_AShardIsHandedOverAfterItsWorkHasEnded) {
  auto link = std::make_shared<Link>(memory_, clock_, together_);
  ShardListener blocking;
  std::atomic<int> working{0};
  blocking.onShardElected = [&](const Shard&, const Leadership& term) {
    ++working;
    while (term.leads()) std::this_thread::yield();
    EXPECT_TRUE(term.isValid()) << "the work ends before its lease does";
    --working;
  };
  Runtime threaded = runtime();
  threaded.executor = {};
  auto elector = std::make_unique<ShardedElector>(group("a", link), std::move(blocking), std::move(threaded));
  elector->start();
  ASSERT_TRUE(eventually([&] { return advance(50ms), working == 12; }));
  join("b");
  ASSERT_TRUE(eventually([&] { return advance(10ms), spread() == Spread{6}; }));
  EXPECT_EQ(working, 6);
  destroy(std::move(elector));
  EXPECT_EQ(working, 0);
}

/// One listing in a period, one write in a heartbeat for each own lease, and nothing for the shards of others.
TEST_P(ShardedElectorTest, RequestsInAPeriodAreOneListAndTheOwnRenewals) {
  for (const char* name : {"a", "b", "c"}) join(name);
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  advance(5s);
  for (auto& candidate : candidates_) {
    candidate->link->lists = candidate->link->reads = candidate->link->writes = 0;
  }
  advance(60s);
  for (auto& candidate : candidates_) {
    EXPECT_EQ(candidate->link->reads, 0);
    EXPECT_GE(candidate->link->lists, 60s / 550ms);
    EXPECT_LE(candidate->link->lists, 60s / 450ms);
    EXPECT_GE(candidate->link->writes, 5 * 59);
    EXPECT_LE(candidate->link->writes, 5 * 63) << "four shards and its presence, up to a 32nd early";
  }
}

TEST_P(ShardedElectorTest, RequestsForAMovedShardAreAReleaseAndAnAcquisition) {
  join("a");
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  advance(5s);
  Candidate& b = join("b");
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  EXPECT_EQ(b.link->reads, 1) << "for its presence, before the first listing was there";
  EXPECT_LE(b.link->writes, 6 + 1 + 7 * 5) << "six acquisitions, its presence, and renewals";
}

TEST_P(ShardedElectorTest, NeverTwoOwnersAndEvenInTheEndAfterAnyHistory) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random{seed};
    for (auto& candidate : candidates_) candidate->crashed = true, candidate->link->cut = true;
    int joined = 0;
    const auto name = [&] { return "s" + std::to_string(seed) + "-" + std::to_string(joined++); };
    join(name());
    for (int step = 0; step < 30; ++step) {
      Candidate& one = *candidates_[random.below(candidates_.size())];
      const auto what = random.below(6);
      if (what == 0 && spread().size() < 8) join(name());
      if (one.crashed) continue;
      if (what == 1 && spread().size() > 1) crash(one);
      if (what == 2 && spread().size() > 1 && !one.link->cut) {
        one.elector->requestStop();
        one.crashed = true;
      }
      if (what >= 3) one.link->cut = what == 3;
      advance(uniform(random, 2500ms));
    }
    for (auto& candidate : candidates_) {
      if (!candidate->crashed) candidate->link->cut = false;
    }
    ASSERT_TRUE(advanceUntil([&] { return isEven(); })) << ::testing::PrintToString(spread());
    const int revoked = count("revoked");
    advance(20s);
    EXPECT_EQ(count("revoked"), revoked) << "nothing moves any more";
    for (auto& candidate : candidates_) {
      if (candidate->elector && candidate->crashed) destroy(std::move(candidate->elector));
    }
  }
}

}  // namespace
}  // namespace tenure::test
