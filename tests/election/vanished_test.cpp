// The record of a living leader is deleted: a candidate that comes afterwards has never seen it, and waits all the
// same.
#include <future>

#include <gtest/gtest.h>

#include "election/stage.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// Somebody removes the record, as `tenure lock prune` can.
void removeRecord(Stage& stage) {
  std::optional<WriteOutcome> outcome;
  stage.memory->remove(stage.key, stage.stored().value().version, {1s},
                       [&](WriteOutcome told) { outcome = std::move(told); });
  stage.settle();
  ASSERT_TRUE(outcome && std::holds_alternative<Applied>(*outcome));
}

TEST(VanishedRecord, aCandidateThatComesAfterTheDeletionNeverLeadsBesideTheLeader) {
  Stage stage;
  const Candidate leader = stage.leader("a");
  leader.store->setAll(Fault::neverLost);  // it does not notice this before its lease is over
  removeRecord(stage);
  const Candidate newcomer = stage.candidate("b");
  newcomer->start();
  bool both = false;
  ASSERT_TRUE(stage.advanceUntil([&] {
    both = both || (leader->isLeader() && newcomer->isLeader());
    return newcomer->isLeader();
  }));
  EXPECT_FALSE(both);
  EXPECT_FALSE(leader->isLeader());
  EXPECT_EQ(newcomer->fencingToken(), FencingToken{2});
}

TEST(VanishedRecord, theLeaderThatHearsOfItGoesOnAtOnceWithAHigherToken) {
  Stage stage;
  const Candidate leader = stage.leader("a");
  removeRecord(stage);
  ASSERT_TRUE(stage.advanceUntil([&] { return leader.record->count("elected") == 2; }, 2s));
  EXPECT_EQ(leader.record->why().reason, RevokeReason::recordMissing);
  EXPECT_EQ(leader->fencingToken(), FencingToken{2});
}

}  // namespace
}  // namespace tenure::test
