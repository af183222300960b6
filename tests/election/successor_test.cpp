// stepDown() in favour of one candidate, and a request to step down that names one.
#include <stdexcept>

#include <gtest/gtest.h>

#include "election/stage.hpp"
#include "lockcore/port/extended_store.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

class NamedSuccessor : public testing::Test {
 protected:
  /// Beside the leader `a`: `b`, which is quick, and `c`, whose priority lets all others come first.
  void begin() {
    b_->start();
    c_->start();
    stage_.advance(2s);
  }

  Stage stage_;
  Candidate a_ = stage_.leader("a");
  Candidate b_ = stage_.candidate("b");
  Candidate c_ = stage_.candidate("c", [](GroupOptions& options) { options.candidate.priority = 50; });
};

TEST_F(NamedSuccessor, whoIsNamedByTheLeaderLeadsNextWhateverItsPriority) {
  begin();
  a_->stepDown("maintenance", "c");
  EXPECT_TRUE(stage_.advanceUntil([&] { return c_->isLeader(); }));
  EXPECT_EQ(b_.record->count("elected"), 0);
  EXPECT_EQ(stage_.stored()->successor, Successor{}) << "the mark goes with the acquisition";
}

TEST_F(NamedSuccessor, whoIsNamedByARequestLeadsNextWhateverItsPriority) {
  begin();
  extended(stage_.memory)->requestStepDownFor(stage_.key, {FencingToken{1}, {"c", 1s}}, {}, [](const WriteOutcome&) {});
  EXPECT_TRUE(stage_.advanceUntil([&] { return c_->isLeader(); }));
  EXPECT_EQ(b_.record->count("elected"), 0);
}

TEST_F(NamedSuccessor, aNameThatNobodyHasCostsOneHeartbeat) {
  begin();
  a_->stepDown("maintenance", "gone");
  EXPECT_TRUE(stage_.advanceUntil([&] { return stage_.stored()->released; }));
  EXPECT_EQ(stage_.stored()->successor, (Successor{"gone", 1s}));
  stage_.advance(900ms);
  EXPECT_FALSE(b_->isLeader());
  stage_.advance(800ms);
  EXPECT_TRUE(b_->isLeader()) << "a heartbeat, and the look that showed the release";
}

TEST_F(NamedSuccessor, onesOwnNameAndWhatIsNoNameAreRefusedBeforeAnything) {
  EXPECT_THROW(a_->stepDown("maintenance", "a"), std::invalid_argument);
  EXPECT_THROW(a_->stepDown("maintenance", "b#1"), std::invalid_argument);
  EXPECT_THROW(a_->stepDown("maintenance", std::string(201, 'x')), std::invalid_argument);
  stage_.advance(2s);
  EXPECT_TRUE(a_->isLeader());
  EXPECT_EQ(a_.record->count("revoked"), 0);
}

}  // namespace
}  // namespace tenure::test
