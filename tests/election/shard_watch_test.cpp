// What the listings of a sharded group show.
#include "election/src/shard_watch.hpp"

#include <gtest/gtest.h>

#include "support/seeded_random.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using Holders = std::vector<std::string>;

class ShardWatchTest : public testing::Test {
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
  ShardWatch watch{"g", {"0", "1"}, "me", 500ms};
};

TEST_F(ShardWatchTest, TellsHoldersMembersAndWhatIsFree) {
  see({{{"g/0"}, record("you", "v1")},
       {{"g/7"}, record("you", "v1")},
       {{"g/member/0"}, record("you", "v1", "max=4 priority=2")},
       {{"g/member/3"}, record("me", "v1", "")},
       {{"gg/1"}, record("they", "v1")}});
  EXPECT_EQ(holders(), (Holders{"you", ""}));
  EXPECT_EQ(watch.picture(now).members, (std::vector<ShardMember>{{"you", 4, 2}, {"me"}}));
}

TEST_F(ShardWatchTest, AShardCountsAsFreeSomewhatBeforeItsLeaseEnds) {
  see({{{"g/0"}, record("you", "v1")}});
  now = now + 2499ms;
  EXPECT_EQ(holders(), (Holders{"you", ""}));
  now = now + 2ms;
  EXPECT_EQ(holders(), (Holders{"", ""}));
  see({{{"g/0"}, record("you", "v2")}});
  EXPECT_EQ(holders(), (Holders{"you", ""})) << "it lives";
}

TEST_F(ShardWatchTest, AMemberIsPresentWhileItsVersionChanges) {
  see({{{"g/member/0"}, record("you", "v1")}});
  now = now + 2999ms;
  see({{{"g/member/0"}, record("you", "v1")}});
  EXPECT_EQ(members(), 1U);
  now = now + 1ms;
  EXPECT_EQ(members(), 0U);
  see({{{"g/member/0"}, record("you", "v2")}});
  EXPECT_EQ(members(), 1U);
  LeaseRecord gone = record("you", "v3");
  gone.released = true;
  see({{{"g/member/0"}, gone}});
  EXPECT_EQ(members(), 0U);
}

TEST_F(ShardWatchTest, AMemberWhoseSlotRanOutIsPresentWhileItRenewsAShard) {
  see({{{"g/member/0"}, record("you", "v1")}, {{"g/0"}, record("you", "v1")}});
  now = now + 3s;
  see({{{"g/member/0"}, record("you", "v1")}, {{"g/0"}, record("you", "v2")}});
  EXPECT_EQ(members(), 1U);
  SeededRandom random{1};
  for (int i = 0; i < 100; ++i) EXPECT_NE(watch.freeSlot(now, {}, random), 0U) << "it is known by that slot";
}

TEST_F(ShardWatchTest, AbandonedAreTheSlotsOfThoseWhoRenewNothingAnyMore) {
  const std::vector<ListedLease> listing{{{"g/member/0"}, record("you", "v1")},
                                         {{"g/member/1"}, record("they", "v1")},
                                         {{"g/member/2"}, record("me", "v1")},
                                         {{"g/0"}, record("they", "v1")}};
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

TEST_F(ShardWatchTest, I11_AnUnreadableShardIsNotFree) {
  see({{{"g/0"}, StoreError{ErrorClass::corrupt, "what is this"}}});
  now = now + 1h;
  EXPECT_EQ(holders(), (Holders{"?", ""}));
}

TEST_F(ShardWatchTest, I11_AShardIsNotFreeOnceItsRecordCannotBeReadWhateverWasSeenBefore) {
  see({{{"g/0"}, record("you", "v1")}});
  const StoreError unreadable{ErrorClass::corrupt, "what is this"};
  see({{{"g/0"}, unreadable}, {{"g/1"}, unreadable}});
  now = now + 1h;
  EXPECT_EQ(holders(), (Holders{"?", "?"}));
}

TEST_F(ShardWatchTest, AShardThatVanishedUnderItsHolderIsNotFreeForALease) {
  see({{{"g/0"}, record("you", "v1")}});
  see({});
  EXPECT_EQ(holders(), (Holders{"?", ""}));
  now = now + 3s;
  EXPECT_EQ(holders(), (Holders{"", ""}));
}

TEST_F(ShardWatchTest, WhatAProvenDeadProcessHoldsIsFree) {
  LeaseRecord alive = record("you", "v1");
  alive.livenessFile = LivenessFile{"b1", "boot", 1, 2};
  see({{{"g/0"}, alive}, {{"g/member/0"}, alive}});
  EXPECT_EQ(watch.livenessFiles(now).size(), 1U);
  watch.provenDead("b1");
  EXPECT_EQ(holders(), (Holders{"", ""}));
  EXPECT_EQ(members(), 0U);
  EXPECT_EQ(watch.livenessFiles(now).size(), 0U);
}

TEST_F(ShardWatchTest, AFreeSlotIsOneThatNobodyHolds) {
  SeededRandom random{1};
  see({{{"g/member/0"}, record("you", "v1")}, {{"g/member/2"}, record("they", "v1")}});
  EXPECT_TRUE(watch.slotTaken(now, 0));
  EXPECT_FALSE(watch.slotTaken(now, 1));
  for (int i = 0; i < 100; ++i) {
    const std::size_t slot = watch.freeSlot(now, 4, random);
    EXPECT_TRUE(slot != 0 && slot != 2 && slot != 4 && slot <= 10) << slot;
  }
}

TEST_F(ShardWatchTest, WhatAMemberTellsOfItselfIsReadBackAndAnythingElseMeansNothing) {
  EXPECT_EQ(ShardWatch::memberFrom("a", ShardWatch::describe(7, 3)), (ShardMember{"a", 7, 3}));
  EXPECT_EQ(ShardWatch::memberFrom("a", ShardWatch::describe(ShardMember::unlimited, 0)), (ShardMember{"a"}));
  for (const char* data :
       {"", "max=", "max=x priority=-1", "max=99999999999999999999999", "priority=7x", " ", "\xff\n"}) {
    EXPECT_EQ(ShardWatch::memberFrom("a", data), (ShardMember{"a"})) << data;
  }
}

}  // namespace
}  // namespace tenure::test
