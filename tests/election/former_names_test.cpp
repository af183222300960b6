// Candidates that compete for the same shards under other names are noticed.
#include "election/src/former_names.hpp"

#include "election/sharded_group.hpp"
#include "support/seeded_random.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

LeaseRecord heldAs(const std::string& version) {
  LeaseRecord record;
  record.holder = "old#1";
  record.version = RecordVersion{version};
  record.leaseDuration = 3s;
  record.token = FencingToken{1};
  return record;
}

class FormerNamesTest : public testing::Test {
 protected:
  std::optional<std::string> see(const ReadOutcome& outcome) {
    const auto key = names.due(now, random);
    return key ? names.saw(now, *key, outcome) : std::nullopt;
  }
  Instant now{1h, 2h, 3h};
  SeededRandom random{1};
  FormerNames names{"g", {"0", "1"}};
};

TEST_F(FormerNamesTest, AsksOnceAndThenOnceAMinute) {
  EXPECT_FALSE(names.mayTake()) << "before it knows";
  EXPECT_FALSE(see(std::optional<LeaseRecord>{}));
  EXPECT_TRUE(names.mayTake());
  now = now + 59s;
  EXPECT_FALSE(names.due(now, random));
  now = now + 1s;
  EXPECT_TRUE(names.due(now, random));
}

TEST_F(FormerNamesTest, TellsOnceOfAHolderThatLivesAndTakesNothingUntilItIsGone) {
  EXPECT_FALSE(see(std::optional{heldAs("v1")})) << "it may be dead";
  EXPECT_FALSE(names.mayTake());
  now = now + 500ms;
  const auto told = see(std::optional{heldAs("v2")});
  ASSERT_TRUE(told);
  EXPECT_NE(told->find("is held by old#1"), std::string::npos);
  EXPECT_FALSE(see(std::optional{heldAs("v3")}));
  EXPECT_FALSE(names.mayTake());
  now = now + 2999ms;
  EXPECT_FALSE(see(std::optional{heldAs("v3")}));
  EXPECT_FALSE(names.mayTake());
  now = now + 1ms;
  EXPECT_FALSE(see(std::optional{heldAs("v3")}));
  EXPECT_TRUE(names.mayTake());
}

TEST_F(FormerNamesTest, AnErrorLeavesTheQuestionOpenAndAForeignItemDoesNot) {
  EXPECT_FALSE(see(StoreError{ErrorClass::transient, "no connection"}));
  EXPECT_FALSE(names.mayTake());
  EXPECT_FALSE(see(StoreError{ErrorClass::corrupt, "what is this"}));
  EXPECT_TRUE(names.mayTake());
}

/// The two fleets see the same store, and only one of them is told that it keeps groups together.
class MixedFleet : public ShardedGroup {
 protected:
  MixedFleet() : ShardedGroup{12, true} {}
};

TEST_F(MixedFleet, ACandidateTakesNoShardWhileOthersHoldThemUnderOtherNames) {
  auto link = std::make_shared<Link>(memory_, clock_, false);
  auto old = std::make_unique<ShardedElector>(group("old", link), ShardListener{}, runtime());
  old->start();
  ASSERT_TRUE(advanceUntil([&] { return old->owned().size() == 12; }));
  const Candidate& fresh = join("fresh");
  advance(20s);
  EXPECT_EQ(spread(), std::vector<std::size_t>{0});
  EXPECT_NE(fresh.elector->status().lastError.value().message.find("under other names"), std::string::npos);
  destroy(std::move(old));
  EXPECT_TRUE(advanceUntil([&] { return isEven(); }, 10s));
}

}  // namespace
}  // namespace tenure::test
