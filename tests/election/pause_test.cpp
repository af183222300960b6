// An operator's pause as electors and followers see it.
#include <gtest/gtest.h>

#include <tenure/election/leader_elector.hpp>
#include <tenure/election/listener.hpp>
#include <tenure/lockcore/lock_tokens.hpp>

#include "election/stage.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

const Pause maintenance{"alice@db1", "maintenance: disks"};

TEST(PauseText, isReadAsItWasMade) {
  EXPECT_EQ(pauseOwner(maintenance), "paused by alice@db1: maintenance: disks");
  EXPECT_EQ(pauseIn(pauseOwner(maintenance)), maintenance);
  EXPECT_EQ(pauseIn(pauseOwner(maintenance) + "#0123456789abcdef0123456789abcdef"), maintenance);
}

TEST(PauseText, otherHoldersAreNoPause) {
  for (const char* holder : {"", "alice#1", "paused by", "paused by alice", "paused by : why",
                             "paused by alice: ", "paused by alice: #1", "not paused by a: b", "Paused by a: b"}) {
    EXPECT_EQ(pauseIn(holder), std::nullopt) << holder;
  }
}

TEST(PauseText, isNoNameForACandidate) {
  const OptionFaults faults = faultsOf(GroupOptions{.group = "g", .candidate = {.id = pauseOwner(maintenance)}});
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults.front().field, "candidate.id");
}

class PausedGroup : public testing::Test {
 protected:
  [[nodiscard]] LockToken pause() {
    return stage_.drive<LockToken>([this] {
      return LockTokens{stage_.memory}
          .acquire(stage_.key, {.lease = 60s, .waitFor = 0ms, .owner = pauseOwner(maintenance)})
          .value();
    });
  }

  Stage stage_;
};

TEST_F(PausedGroup, nobodyIsElectedAndEveryStatusSaysWhoPausedAndWhy) {
  const LockToken token = pause();
  const Candidate a = stage_.candidate("a");
  a->start();
  stage_.advance(50s);
  EXPECT_FALSE(a->isLeader());
  const auto leader = a->status().lease.leader;
  ASSERT_TRUE(leader);
  EXPECT_EQ(pauseIn(leader->holder), maintenance);
  EXPECT_EQ(leader->address, "");
  EXPECT_TRUE(stage_.logged("the lease is paused by alice@db1: maintenance: disks"));
  EXPECT_FALSE(stage_.logged("the leader is paused"));
  ASSERT_TRUE(stage_.drive<bool>([&] { return LockTokens{stage_.memory}.release(token).has_value(); }));
  EXPECT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }, 2s));
}

TEST_F(PausedGroup, endsByItselfAfterItsLease) {
  static_cast<void>(pause());
  const Candidate a = stage_.candidate("a");
  a->start();
  stage_.advance(59s);
  EXPECT_FALSE(a->isLeader());
  EXPECT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }, 3s));
}

TEST_F(PausedGroup, isNeverAskedToStepDown) {
  static_cast<void>(pause());
  const Candidate a = stage_.candidate("a", [](GroupOptions& options) { options.candidate.reclaimAfter = 1s; });
  a->start();
  stage_.advance(30s);
  EXPECT_EQ(stage_.stored()->holder.find("paused by"), 0U);
  EXPECT_FALSE(stage_.logged("asks "));
}

}  // namespace
}  // namespace tenure::test
