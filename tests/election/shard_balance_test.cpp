// What a candidate of a sharded election decides after one look at the group, rule by rule.
#include "election/src/shard_balance.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "support/seeded_random.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using Shards = std::vector<std::size_t>;
using Shares = std::vector<ShardShare>;

TEST(ShardShares, DivideEvenlyAndLeaveTheRestOpen) {
  EXPECT_EQ(fairShares(12, {{"a"}, {"b"}, {"c"}}), (Shares{{4, 4}, {4, 4}, {4, 4}}));
  EXPECT_EQ(fairShares(13, {{"a"}, {"b"}, {"c"}}), (Shares{{4, 5}, {4, 5}, {4, 5}}));
  EXPECT_EQ(fairShares(2, {{"a"}, {"b"}, {"c"}}), (Shares{{0, 1}, {0, 1}, {0, 1}}));
  EXPECT_EQ(fairShares(5, {}), Shares{});
}

TEST(ShardShares, RespectTheLimitOfEachMember) {
  EXPECT_EQ(fairShares(12, {{"a", 2}, {"b"}, {"c"}}), (Shares{{2, 2}, {5, 5}, {5, 5}}));
  EXPECT_EQ(fairShares(12, {{"a", 5}, {"b"}}), (Shares{{5, 5}, {7, 7}}));
  EXPECT_EQ(fairShares(11, {{"a", 5}, {"b"}}), (Shares{{5, 5}, {6, 6}}));
  EXPECT_EQ(fairShares(11, {{"a", 6}, {"b"}}), (Shares{{5, 6}, {5, 6}}));
  EXPECT_EQ(fairShares(11, {{"a", 2}, {"b", 3}}), (Shares{{2, 2}, {3, 3}})) << "more shards than all may have";
  EXPECT_EQ(fairShares(11, {{"a", 0}, {"b"}}), (Shares{{0, 0}, {11, 11}}));
}

/// How many of `free` shards fall to each member.
Shards counted(const Shards& free, const std::vector<ShardMember>& members, const Shares& shares, const Shards& owned) {
  Shards counts(members.size() + 1);
  for (const std::size_t member : dealShards(free, members, shares, owned)) ++counts.at(member);
  return counts;
}

TEST(ShardShares, AFreeShardGoesToWhoeverHasLeastThenToThePreferred) {
  const std::vector<ShardMember> members{{"a"}, {"b", ShardMember::unlimited, 1}, {"c"}};
  const Shares shares = fairShares(7, members);
  EXPECT_EQ(counted({0, 1, 2, 3, 4, 5, 6}, members, shares, {0, 0, 0}), (Shards{3, 2, 2, 0}));
  EXPECT_EQ(counted({3, 4}, members, shares, {0, 0, 0}), (Shards{1, 0, 1, 0}));
  EXPECT_EQ(counted({2, 6}, members, shares, {3, 0, 2}), (Shards{0, 2, 0, 0}));
  EXPECT_EQ(counted({0, 1, 2}, members, shares, {3, 3, 3}), (Shards{0, 0, 0, 3})) << "to none: all have the most";
}

/// Listings of different ages must agree, or members compete for the same shards and withdraw from each other.
TEST(ShardShares, AShardThatIsWonByWhomItFellToChangesNothingForTheOthers) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SeededRandom random{seed};
    std::vector<ShardMember> members;
    for (std::size_t i = 0; i <= random.below(7); ++i) {
      members.push_back({"m" + std::to_string(i * seed), random.chance(0.2) ? random.below(9) : ShardMember::unlimited,
                         static_cast<unsigned>(random.below(2))});
    }
    Shards free;
    for (std::size_t shard = 0; shard < 60; ++shard) {
      if (random.chance(0.7)) free.push_back(shard);
    }
    Shards owned(members.size());
    for (std::size_t i = free.size(); i < 60; ++i) ++owned[random.below(members.size())];
    const Shares shares = fairShares(60, members);
    Shards dealt = dealShards(free, members, shares, owned);
    while (!free.empty()) {
      const std::size_t won = random.below(free.size());
      if (dealt[won] < members.size()) ++owned[dealt[won]];
      const auto at = static_cast<std::ptrdiff_t>(won);
      if (dealt[won] == members.size()) break;  // all have the most
      free.erase(free.begin() + at);
      dealt.erase(dealt.begin() + at);
      ASSERT_EQ(dealShards(free, members, shares, owned), dealt) << "seed " << seed;
    }
  }
}

class ShardBalanceTest : public testing::Test {
 protected:
  static constexpr auto settle = 1s;
  static constexpr auto lease = 10s;

  /// One look, `after` the one before.
  ShardMoves look(std::chrono::nanoseconds after = 0s) {
    now = now + after;
    return balance.look(now, picture, own, random);
  }
  /// Looks often enough for all decisions that wait until nothing changes.
  ShardMoves settled() {
    static_cast<void>(look());
    return look(settle);
  }
  void held(const std::string& by, const Shards& shards) {
    for (const std::size_t shard : shards) picture.holders.at(shard) = by;
    if (by == "me") own.led = shards;
  }

  Instant now{1h, 2h, 3h};
  SeededRandom random{3};
  ShardBalance balance{{"me", settle, lease}};
  ShardPicture picture{{{"me"}, {"you"}}, std::vector<std::string>(6)};
  OwnShards own{};
};

TEST_F(ShardBalanceTest, ANewcomerTakesNothingBeforeOthersHaveHadTheTimeToCome) {
  EXPECT_EQ(look(), ShardMoves{});
  EXPECT_EQ(look(settle - 1ms), ShardMoves{});
  EXPECT_EQ(look(1ms).take.size(), 3U);
}

TEST_F(ShardBalanceTest, WhoIsNotSeenByOthersTakesNothing) {
  picture.members = {{"you"}};
  EXPECT_EQ(settled(), ShardMoves{});
  picture.members = {{"me"}, {"you"}};
  EXPECT_EQ(look(), ShardMoves{}) << "it is a newcomer then";
}

TEST_F(ShardBalanceTest, TakesNoMoreThanItsShareOfWhatTheDeadLeave) {
  held("me", {0, 1});
  held("you", {2, 3});
  EXPECT_EQ(settled().take.size(), 1U);
}

TEST_F(ShardBalanceTest, AShardThatNobodyTakesIsTakenBeyondTheShareButWithinTheLimit) {
  held("me", {0, 1, 2});
  held("you", {3, 4});
  Shards taken;
  int looks = 0;
  for (; taken.empty() && looks < 200; ++looks) taken = look(settle).take;
  EXPECT_EQ(taken, Shards{5});
  EXPECT_GT(looks, ShardBalance::patience);
  held("me", {0, 1, 2, 5});
  EXPECT_EQ(settled().give, Shards{}) << "nobody else took it, so it stays";
  EXPECT_EQ(look(10 * lease).give, Shards{5});

  picture.members[0].maxLeases = 3;
  held("me", {0, 1, 2});
  picture.holders[5].clear();
  for (int i = 0; i < 200; ++i) EXPECT_EQ(look(settle).take, Shards{});
}

TEST_F(ShardBalanceTest, StopsCompetingForAShardThatSomebodyElseHas) {
  own.contested = {1, 2};
  held("you", {2});
  EXPECT_EQ(look().withdraw, Shards{2});
}

/// Its candidacies count as nothing, so they cannot push out what it leads.
TEST_F(ShardBalanceTest, WithinItsShareNothingLedIsGivenUpAndCandidaciesAreWithdrawn) {
  picture.holders.resize(12);
  held("me", {0, 1, 2, 3, 4});
  own.contested = {5, 6, 7, 8, 9, 10, 11};
  const ShardMoves moves = settled();
  EXPECT_EQ(moves.give, Shards{});
  EXPECT_EQ(moves.take, Shards{});
  EXPECT_EQ(moves.withdraw.size(), 6U) << "one more is its share";

  own.contested = {6};
  held("me", {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(look(settle).withdraw, Shards{6}) << "its share is full";
  picture.holders[6] = "me";
  const ShardMoves full = look(settle);
  EXPECT_EQ(full.withdraw, Shards{6}) << "its own record of a lost term is a candidacy as well";
  EXPECT_EQ(full.give, Shards{});
}

TEST_F(ShardBalanceTest, AWriteUnderWayIsKeptInPlaceOfAnotherShardButOnlyWithinTheShare) {
  static_cast<void>(settled());
  own.contested = {0, 1, 2, 3, 4, 5};
  own.acquiring = {0, 1};
  ShardMoves moves = look();
  EXPECT_EQ(moves.take, Shards{});
  ASSERT_EQ(moves.withdraw.size(), 3U);
  EXPECT_GT(moves.withdraw.front(), 1U);
  own.acquiring = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(look().withdraw.size(), 3U);
  held("me", {0, 1, 2});
  own.contested = own.acquiring = {3, 4};
  EXPECT_EQ(look().withdraw, (Shards{3, 4}));
}

TEST_F(ShardBalanceTest, AMemberThatWinsNowAndThenIsLeftWhatFallsToIt) {
  picture.holders.resize(200);
  Shards all(100);
  std::iota(all.begin(), all.end(), 0U);
  held("me", all);
  for (std::size_t won = 100; won < 200; ++won) {
    for (int i = 0; i < ShardBalance::patience; ++i) EXPECT_EQ(look(settle), ShardMoves{});
    held("you", {won});
  }
}

/// A store that takes no writes for a while looks like a member that cannot write.
TEST_F(ShardBalanceTest, TheFirstTakenBeyondTheShareIsOneAndEachWinAllowsOneMore) {
  picture.holders.resize(40);
  Shards mine(20);
  std::iota(mine.begin(), mine.end(), 0U);
  held("me", mine);
  for (std::size_t allowed = 1; allowed <= 4; allowed *= 2) {
    for (int i = 0; i < 300; ++i) {
      const ShardMoves moves = look(10ms);
      EXPECT_EQ(moves.give, Shards{});
      EXPECT_EQ(moves.withdraw, Shards{});
      own.contested.insert(own.contested.end(), moves.take.begin(), moves.take.end());
    }
    ASSERT_EQ(own.contested.size(), allowed);
    mine.insert(mine.end(), own.contested.begin(), own.contested.end());
    own.contested.clear();
    held("me", mine);
  }
}

TEST_F(ShardBalanceTest, GivesUpTheSurplusAFewAtATimeTheLastWonFirst) {
  picture.holders.resize(16);
  held("me", {0, 1, 2, 3, 4, 5, 6, 7, 15, 14, 13, 12, 11, 10, 9, 8});
  EXPECT_EQ(settled().give, (Shards{8, 9})) << "an eighth of all at once";
}

TEST_F(ShardBalanceTest, GivesNothingUpWhileMembersComeAndGo) {
  held("me", {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(look(), ShardMoves{});
  picture.members.push_back({"third"});
  EXPECT_EQ(look(settle), ShardMoves{});
  picture.members.pop_back();
  EXPECT_EQ(look(settle), ShardMoves{});
  EXPECT_EQ(look(settle).give, Shards{5});
}

TEST_F(ShardBalanceTest, OneMoreThanAnotherIsBalanced) {
  picture.holders.resize(5);
  held("me", {0, 1, 2});
  held("you", {3, 4});
  for (int i = 0; i < 50; ++i) EXPECT_EQ(look(settle), ShardMoves{});
}

TEST_F(ShardBalanceTest, WhereSomebodyHasLessThanTheLeastOnlyOneOfThoseWithOneMoreGives) {
  picture.holders.resize(7);
  picture.members = {{"me"}, {"they"}, {"you"}};
  held("they", {0, 1, 2});
  held("me", {3, 4, 5});
  held("you", {6});
  EXPECT_EQ(settled(), ShardMoves{}) << "they come later by name, so they give";
  picture.members[0].priority = 1;
  EXPECT_EQ(settled().give, Shards{5}) << "the less preferred gives first";
}

TEST_F(ShardBalanceTest, APreferredNewcomerGetsNothingThatTheSpreadDoesNotOweIt) {
  picture.members[1].priority = 0;
  picture.members[0].priority = 50;
  held("me", {0, 1, 2});
  held("you", {3, 4, 5});
  for (int i = 0; i < 50; ++i) EXPECT_EQ(look(settle), ShardMoves{});
}

TEST_F(ShardBalanceTest, WhatADeadMemberStillHoldsIsNotMadeUpForByOthers) {
  picture.members = {{"me"}, {"you"}};
  picture.holders.resize(9);
  held("me", {0, 1, 2});
  held("you", {3, 4, 5});
  held("dead", {6, 7, 8});
  EXPECT_EQ(settled(), ShardMoves{});
}

TEST_F(ShardBalanceTest, AShardThatAStrangerKeepsIsLeftOutOfTheReckoning) {
  held("operator", {4, 5});
  held("me", {0, 1, 2});
  held("you", {3});
  EXPECT_EQ(settled(), ShardMoves{});
  EXPECT_EQ(look(2 * lease).give, Shards{2});
}

TEST_F(ShardBalanceTest, WhatWasGivenUpOnRequestIsLeftToOthers) {
  held("me", {0, 1});
  held("you", {3, 4, 5});
  own.avoided = {2};
  for (int i = 0; i < 50; ++i) EXPECT_EQ(look(settle).take, Shards{});
  own.avoided.clear();
  EXPECT_EQ(look().take, Shards{2});
}

}  // namespace
}  // namespace tenure::test
