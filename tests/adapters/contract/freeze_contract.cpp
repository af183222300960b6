// A process is stopped between its check and its write, and woken after a successor has written.
#include <chrono>
#include <cstdlib>

#include <tenure/lockcore/clock.hpp>

#include "adapters/contract/fence_contract.hpp"
#include "adapters/contract/writer_process.hpp"

namespace tenure::contract {
namespace {

using namespace std::chrono_literals;

int freezesWanted() {
  const char* wanted = std::getenv("TENURE_FENCE_FREEZES");
  return wanted != nullptr ? std::atoi(wanted) : 5;
}

/// A leader that is frozen, its successor, and the resource. Terms keep rising over all rounds.
class Zombies {
 public:
  explicit Zombies(const FenceUnderTest& fence)
      : resource_{fence.make()},
        leader_{WriterProcess::obeying(fence, resource_->address(), "leader")},
        successor_{fence.open(resource_->address())} {}

  /// One round: the leader begins and stops at `pause`, a successor writes, the leader is woken. Returns the leader's
  /// answer.
  [[nodiscard]] std::string freeze(Pause pause) {
    const std::string round = std::to_string(++round_);
    leaderToken_ = token_ = token_.next();
    leader_->begin(token_, "first-" + round, Pause::no);
    if (const std::string first = leader_->answer(); first != "accepted") return "at first: " + first;
    leader_->begin(token_, "late-" + round, pause);
    if (!leader_->waitForStop()) return "the leader ended";
    const TermStamp later{contractLease, token_ = token_.next(), "successor"};
    // If the leader holds a lock of the resource, the successor can write only afterwards: late, but with success.
    bool written = successor_->write(later, "early-" + round, {}).has_value();
    overtaken_ += written ? 1 : 0;
    leader_->wake();
    const std::string answer = leader_->answer();
    const Instant start = readClock();
    while (!written && elapsedForChallenger(start, readClock()) < 60s) {
      written = successor_->write(later, "early-" + round, {}).has_value();
    }
    return written ? answer : "the successor was never let in";
  }

  /// The answer to the leader when it tries again.
  [[nodiscard]] std::string tryAgain() {
    leader_->begin(leaderToken_, "again-" + std::to_string(round_), Pause::no);
    return leader_->answer();
  }
  [[nodiscard]] std::string staleAnswer() const { return "stale " + toString(leaderToken_) + ' ' + toString(token_); }
  [[nodiscard]] std::vector<FencedEntry> entries() { return resource_->entries(); }
  /// The number of rounds in which the successor wrote while the leader was frozen.
  [[nodiscard]] int overtaken() const noexcept { return overtaken_; }

 private:
  std::unique_ptr<FencedResource> resource_;
  std::unique_ptr<WriterProcess> leader_;
  std::unique_ptr<FenceHandle> successor_;
  FencingToken token_{}, leaderToken_{};
  int round_{0};
  int overtaken_{0};
};

TEST_P(FenceFreezeContract, aLeaderFrozenBetweenItsCheckAndItsWriteIsRefused) {
  Zombies zombies{GetParam()};
  const int rounds = freezesWanted();
  for (int round = 0; round < rounds; ++round) {
    const std::string answer = zombies.freeze(Pause::beforeWrite);
    ASSERT_EQ(answer, zombies.staleAnswer()) << "round " << round;
  }
  EXPECT_EQ(zombies.overtaken(), rounds);
  const auto entries = zombies.entries();
  EXPECT_EQ(staleAmong(entries), std::vector<FencedEntry>{});
  EXPECT_EQ(faultsOf(entries), std::vector<std::string>{});
  EXPECT_EQ(entries.size(), 2U * static_cast<unsigned>(rounds));
}

TEST_P(FenceFreezeContract, aLeaderFrozenInsideAWriteNeverWritesAfterItsSuccessor) {
  Zombies zombies{GetParam()};
  const int rounds = GetParam().pausesInside ? freezesWanted() : 0;
  for (int round = 0; round < rounds; ++round) {
    const int overtaken = zombies.overtaken();
    const std::string answer = zombies.freeze(Pause::insideWrite);
    // Either the leader had the resource alone and wrote before the successor, or the successor wrote and the leader is
    // refused.
    if (zombies.overtaken() == overtaken) {
      ASSERT_EQ(answer, "accepted") << "round " << round;
    } else {
      ASSERT_NE(answer, "accepted") << "round " << round;
    }
    ASSERT_EQ(zombies.tryAgain(), zombies.staleAnswer()) << "round " << round;
  }
  const auto entries = zombies.entries();
  EXPECT_EQ(staleAmong(entries), std::vector<FencedEntry>{});
  EXPECT_EQ(faultsOf(entries), std::vector<std::string>{});
}

TEST_P(FenceFreezeContract, withoutTheFenceTheSameFrozenLeaderOverwritesItsSuccessor) {
  Zombies zombies{GetParam()};
  const int rounds = freezesWanted();
  for (int round = 0; round < rounds; ++round) {
    ASSERT_EQ(zombies.freeze(Pause::bareWrite), "accepted") << "round " << round;
  }
  EXPECT_EQ(staleAmong(zombies.entries()).size(), static_cast<unsigned>(rounds));
}

}  // namespace
}  // namespace tenure::contract
