// What a candidate of a sharded election decides after one look at the group, rule by rule.
#include "election/src/shard_balance.hpp"

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

TEST(ShardShares, AFreeShardGoesToWhoeverHasLeastThenToThePreferred) {
  const std::vector<ShardMember> members{{"a"}, {"b", ShardMember::unlimited, 1}, {"c"}};
  const Shares shares = fairShares(7, members);
  EXPECT_EQ(dealShards(7, members, shares, {0, 0, 0}), (Shards{0, 2, 1, 0, 2, 1, 0}));
  EXPECT_EQ(dealShards(2, members, shares, {3, 0, 2}), (Shards{1, 1}));
  EXPECT_EQ(dealShards(3, members, shares, {3, 3, 3}), Shards{}) << "who has the most of its share gets none";
}

class ShardBalanceTest : public testing::Test {
 protected:
  static constexpr auto settle = 1s;
  static constexpr auto lease = 10s;

  /// One look, `after` the one before.
  ShardOrders look(std::chrono::nanoseconds after = 0s) {
    now = now + after;
    return balance.look(now, picture, own, random);
  }
  /// Looks often enough for all decisions that wait until nothing changes.
  ShardOrders settled() {
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
  EXPECT_EQ(look(), ShardOrders{});
  EXPECT_EQ(look(settle - 1ms), ShardOrders{});
  EXPECT_EQ(look(1ms).take, (Shards{0, 2, 4}));
}

TEST_F(ShardBalanceTest, WhoIsNotSeenByOthersTakesNothing) {
  picture.members = {{"you"}};
  EXPECT_EQ(settled(), ShardOrders{});
  picture.members = {{"me"}, {"you"}};
  EXPECT_EQ(look(), ShardOrders{}) << "it is a newcomer then";
}

TEST_F(ShardBalanceTest, TakesNoMoreThanItsShareOfWhatTheDeadLeave) {
  held("me", {0, 1});
  held("you", {2, 3});
  EXPECT_EQ(settled().take, Shards{4});
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
  EXPECT_EQ(look().forget, Shards{2});
}

TEST_F(ShardBalanceTest, GivesUpTheSurplusAFewAtATimeTheLastWonFirst) {
  picture.holders.resize(16);
  held("me", {0, 1, 2, 3, 4, 5, 6, 7, 15, 14, 13, 12, 11, 10, 9, 8});
  EXPECT_EQ(settled().give, (Shards{8, 9})) << "an eighth of all at once";
}

TEST_F(ShardBalanceTest, GivesNothingUpWhileMembersComeAndGo) {
  held("me", {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(look(), ShardOrders{});
  picture.members.push_back({"third"});
  EXPECT_EQ(look(settle), ShardOrders{});
  picture.members.pop_back();
  EXPECT_EQ(look(settle), ShardOrders{});
  EXPECT_EQ(look(settle).give, Shards{5});
}

TEST_F(ShardBalanceTest, OneMoreThanAnotherIsBalanced) {
  picture.holders.resize(5);
  held("me", {0, 1, 2});
  held("you", {3, 4});
  for (int i = 0; i < 50; ++i) EXPECT_EQ(look(settle), ShardOrders{});
}

TEST_F(ShardBalanceTest, WhereSomebodyHasLessThanTheLeastOnlyOneOfThoseWithOneMoreGives) {
  picture.holders.resize(7);
  picture.members = {{"me"}, {"they"}, {"you"}};
  held("they", {0, 1, 2});
  held("me", {3, 4, 5});
  held("you", {6});
  EXPECT_EQ(settled(), ShardOrders{}) << "they come later by name, so they give";
  picture.members[0].priority = 1;
  EXPECT_EQ(settled().give, Shards{5}) << "the less preferred gives first";
}

TEST_F(ShardBalanceTest, APreferredNewcomerGetsNothingThatTheSpreadDoesNotOweIt) {
  picture.members[1].priority = 0;
  picture.members[0].priority = 50;
  held("me", {0, 1, 2});
  held("you", {3, 4, 5});
  for (int i = 0; i < 50; ++i) EXPECT_EQ(look(settle), ShardOrders{});
}

TEST_F(ShardBalanceTest, WhatADeadMemberStillHoldsIsNotMadeUpForByOthers) {
  picture.members = {{"me"}, {"you"}};
  picture.holders.resize(9);
  held("me", {0, 1, 2});
  held("you", {3, 4, 5});
  held("dead", {6, 7, 8});
  EXPECT_EQ(settled(), ShardOrders{});
}

TEST_F(ShardBalanceTest, AShardThatAStrangerKeepsIsLeftOutOfTheReckoning) {
  held("operator", {4, 5});
  held("me", {0, 1, 2});
  held("you", {3});
  EXPECT_EQ(settled(), ShardOrders{});
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
