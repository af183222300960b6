// What the listings of a sharded group show.
#include "election/src/shard_watch.hpp"

#include <gtest/gtest.h>

#include "support/seeded_random.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using Holders = std::vector<std::string>;

/// With both kinds of keys: `group/part`, and the group's name with the part as its sort key.
class ShardWatchTest : public testing::TestWithParam<bool> {
 protected:
  static LeaseRecord record(const std::string& holder, const std::string& version, const std::string& data = {}) {
    LeaseRecord out;
    out.holder = holder;
    out.version = RecordVersion{version};
    out.leaseDuration = 3s;
    out.token = FencingToken{1};
    out.data = data;
    return out;
  }
  void see(const std::vector<ListedLease>& listing) { watch.saw(now, listing); }
  [[nodiscard]] Holders holders() const { return watch.picture(now).holders; }
  [[nodiscard]] std::size_t members() const { return watch.picture(now).members.size(); }

  Instant now{1h, 2h, 3h};
  const ShardKeys keys{"g", GetParam()};
  ShardWatch watch{keys, {"0", "1"}, "me", 500ms};
};

TEST_P(ShardWatchTest, TellsHoldersMembersAndWhatIsFree) {
  see({{keys.keyOf("0"), record("you", "v1")},
       {keys.keyOf("7"), record("you", "v1")},
       {keys.keyOf("member/0"), record("you", "v1", "max=4 priority=2")},
       {keys.keyOf("member/3"), record("me", "v1", "")},
       {{"gg/1"}, record("they", "v1")},
       {{"g"}, record("they", "v1")},
       {ShardKeys{"g", !GetParam()}.keyOf("1"), record("they", "v1")}});
  EXPECT_EQ(holders(), (Holders{"you", ""}));
  EXPECT_EQ(watch.picture(now).members, (std::vector<ShardMember>{{"you", 4, 2}, {"me"}}));
}

TEST_P(ShardWatchTest, AShardCountsAsFreeSomewhatBeforeItsLeaseEnds) {
  see({{keys.keyOf("0"), record("you", "v1")}});
  now = now + 2499ms;
  EXPECT_EQ(holders(), (Holders{"you", ""}));
  now = now + 2ms;
  EXPECT_EQ(holders(), (Holders{"", ""}));
  see({{keys.keyOf("0"), record("you", "v2")}});
  EXPECT_EQ(holders(), (Holders{"you", ""})) << "it lives";
}

TEST_P(ShardWatchTest, AMemberIsPresentWhileItsVersionChanges) {
  see({{keys.keyOf("member/0"), record("you", "v1")}});
  now = now + 2999ms;
  see({{keys.keyOf("member/0"), record("you", "v1")}});
  EXPECT_EQ(members(), 1U);
  now = now + 1ms;
  EXPECT_EQ(members(), 0U);
  see({{keys.keyOf("member/0"), record("you", "v2")}});
  EXPECT_EQ(members(), 1U);
  LeaseRecord gone = record("you", "v3");
  gone.released = true;
  see({{keys.keyOf("member/0"), gone}});
  EXPECT_EQ(members(), 0U);
}

TEST_P(ShardWatchTest, AMemberWhoseSlotRanOutIsPresentWhileItRenewsAShard) {
  see({{keys.keyOf("member/0"), record("you", "v1")}, {keys.keyOf("0"), record("you", "v1")}});
  now = now + 3s;
  see({{keys.keyOf("member/0"), record("you", "v1")}, {keys.keyOf("0"), record("you", "v2")}});
  EXPECT_EQ(members(), 1U);
  SeededRandom random{1};
  for (int i = 0; i < 100; ++i) EXPECT_NE(watch.freeSlot(now, {}, random), 0U) << "it is known by that slot";
}

TEST_P(ShardWatchTest, AbandonedAreTheSlotsOfThoseWhoRenewNothingAnyMore) {
  const std::vector<ListedLease> listing{{keys.keyOf("member/0"), record("you", "v1")},
                                         {keys.keyOf("member/1"), record("they", "v1")},
                                         {keys.keyOf("member/2"), record("me", "v1")},
                                         {keys.keyOf("0"), record("they", "v1")}};
  see(listing);
  EXPECT_TRUE(watch.abandonedSlots(now).empty()) << "not known for a lease";
  now = now + 3s;
  auto later = listing;
  later.back().record->version = RecordVersion{"v2"};
  see(later);
  EXPECT_EQ(watch.abandonedSlots(now), std::vector<std::size_t>{0});
  later.front().record->released = true;
  see(later);
  EXPECT_TRUE(watch.abandonedSlots(now).empty());
}

TEST_P(ShardWatchTest, I11_AnUnreadableShardIsNotFree) {
  see({{keys.keyOf("0"), StoreError{ErrorClass::corrupt, "what is this"}}});
  now = now + 1h;
  EXPECT_EQ(holders(), (Holders{"?", ""}));
}

TEST_P(ShardWatchTest, I11_AShardWithAnUnreadableRecordIsNotFree) {
  see({{keys.keyOf("0"), record("you", "v1")}});
  const StoreError unreadable{ErrorClass::corrupt, "what is this"};
  see({{keys.keyOf("0"), unreadable}, {keys.keyOf("1"), unreadable}});
  now = now + 1h;
  EXPECT_EQ(holders(), (Holders{"?", "?"}));
}

TEST_P(ShardWatchTest, AShardThatVanishedUnderItsHolderIsNotFreeForALease) {
  see({{keys.keyOf("0"), record("you", "v1")}});
  see({});
  EXPECT_EQ(holders(), (Holders{"?", ""}));
  now = now + 3s;
  EXPECT_EQ(holders(), (Holders{"", ""}));
}

TEST_P(ShardWatchTest, WhatAProvenDeadProcessHoldsIsFree) {
  LeaseRecord alive = record("you", "v1");
  alive.livenessFile = LivenessFile{"b1", "boot", 1, 2};
  see({{keys.keyOf("0"), alive}, {keys.keyOf("member/0"), alive}});
  EXPECT_EQ(watch.livenessFiles(now).size(), 1U);
  watch.provenDead("b1");
  EXPECT_EQ(holders(), (Holders{"", ""}));
  EXPECT_EQ(members(), 0U);
  EXPECT_EQ(watch.livenessFiles(now).size(), 0U);
}

TEST_P(ShardWatchTest, AFreeSlotIsOneThatNobodyHolds) {
  SeededRandom random{1};
  see({{keys.keyOf("member/0"), record("you", "v1")}, {keys.keyOf("member/2"), record("they", "v1")}});
  EXPECT_TRUE(watch.slotTaken(now, 0));
  EXPECT_FALSE(watch.slotTaken(now, 1));
  for (int i = 0; i < 100; ++i) {
    const std::size_t slot = watch.freeSlot(now, 4, random);
    EXPECT_TRUE(slot != 0 && slot != 2 && slot != 4 && slot <= 10) << slot;
  }
}

TEST_P(ShardWatchTest, WhatAMemberTellsOfItselfIsReadBackAndAnythingElseMeansNothing) {
  EXPECT_EQ(ShardWatch::memberFrom("a", ShardWatch::describe(7, 3)), (ShardMember{"a", 7, 3}));
  EXPECT_EQ(ShardWatch::memberFrom("a", ShardWatch::describe(ShardMember::unlimited, 0)), (ShardMember{"a"}));
  for (const char* data :
       {"", "max=", "max=x priority=-1", "max=99999999999999999999999", "priority=7x", " ", "\xff\n"}) {
    EXPECT_EQ(ShardWatch::memberFrom("a", data), (ShardMember{"a"})) << data;
  }
}

INSTANTIATE_TEST_SUITE_P(Keys, ShardWatchTest, testing::Bool());

}  // namespace
}  // namespace tenure::test
