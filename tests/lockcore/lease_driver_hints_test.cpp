// Parts that only make the driver faster: hints of the store, and death notices (proofs of a process's death by the
// kernel).
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lockcore/driver_world.hpp"
#include "lockcore/port/lease_store.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// Counts the watches that are asked for, and knows whether the last one still exists.
class Watches {
 public:
  explicit Watches(DriverWorld& world) {
    world.store->onWatch = [this](std::function<void()> told) -> std::shared_ptr<void> {
      ++asked;
      hint = std::move(told);
      const auto handle = std::make_shared<int>(0);
      last_ = handle;
      return handle;
    };
  }
  [[nodiscard]] bool kept() const { return !last_.expired(); }

  int asked{0};
  std::function<void()> hint{};

 private:
  std::weak_ptr<void> last_{};
};

TEST(LeaseDriverWatch, isKeptWhileCandidateAndDroppedWhileLeading) {
  DriverWorld world;
  Watches watches{world};
  world.putOther();
  EXPECT_EQ(watches.asked, 0);
  world.start();
  world.pass(5s);
  ASSERT_EQ(world.driver->status().state, LeaseState::candidate);
  EXPECT_EQ(watches.asked, 1);
  EXPECT_TRUE(watches.kept());

  world.pass(20s);
  ASSERT_TRUE(world.leads());
  EXPECT_EQ(watches.asked, 1);
  EXPECT_FALSE(watches.kept());

  world.driver->submit(event::StepDown{"for a test"});
  world.pass(1s);
  ASSERT_EQ(world.driver->status().state, LeaseState::candidate);
  EXPECT_EQ(watches.asked, 2);
  EXPECT_TRUE(watches.kept());

  world.driver->submit(event::Stop{});
  world.pass(1s);
  ASSERT_EQ(world.driver->status().state, LeaseState::stopped);
  EXPECT_EQ(watches.asked, 2);
  EXPECT_FALSE(watches.kept());
}

TEST(LeaseDriverWatch, isAskedForOnceWhereThereIsNone) {
  DriverWorld world;
  int asked = 0;
  world.store->onWatch = [&](const std::function<void()>&) { return ++asked, nullptr; };
  world.putOther();
  world.start();
  world.pass(9s);
  ASSERT_EQ(world.driver->status().state, LeaseState::candidate);
  EXPECT_EQ(asked, 1);
}

TEST(LeaseDriverWatch, isInPlaceBeforeTheFirstRead) {
  DriverWorld world;
  std::size_t readsBefore = 99;
  world.store->onWatch = [&](const std::function<void()>&) {
    return readsBefore = world.store->calls(Operation::read), nullptr;
  };
  world.start();
  world.pass(1s);
  EXPECT_EQ(readsBefore, 0U);
  EXPECT_GE(world.store->calls(Operation::read), 1U);
}

TEST(LeaseDriverWatch, aHintLeadsToARead) {
  DriverWorld world;
  Watches watches{world};
  world.putOther();
  world.start();
  world.pass(5s);
  world.scheduler->runReady();
  const std::size_t reads = world.store->calls(Operation::read);
  std::thread{watches.hint}.join();
  world.scheduler->runReady();
  EXPECT_EQ(world.store->calls(Operation::read), reads + 1);
  EXPECT_EQ(world.driver->status().leaderSeenAgo, 0ns);
}

TEST(LeaseDriverWatch, aHintOfAReleaseIsTakenUpAtOnce) {
  DriverWorld world;
  Watches watches{world};
  world.putOther();
  world.start();
  world.pass(5s);
  ASSERT_FALSE(world.leads());
  LeaseRecord gone = world.stored().value();
  const RecordVersion version = gone.version;
  gone.version = RecordVersion{"gone-1"};
  world.store->writeNow({world.key, WriteRequest::Purpose::release, {version}, gone, FencingToken{}});
  watches.hint();
  world.pass(50ms);
  EXPECT_TRUE(world.leads());
}

TEST(LeaseDriverWatch, aHintAfterTheEndIsNothing) {
  DriverWorld world;
  Watches watches{world};
  world.start();
  world.pass(0s);
  const std::size_t calls = world.store->calls();
  world.driver.reset();
  watches.hint();
  world.pass(60s);
  EXPECT_EQ(world.store->calls(), calls);
}

/// A death notice that proves a death when the test wants it.
class Deaths final : public DeathNotice {
 public:
  struct Followed {
    std::string livenessFile;
    std::function<void(RecordVersion)> proven;
    std::weak_ptr<void> handle;
  };

  StoreResult<LivenessFile> livenessFile() override {
    return StoreError{ErrorClass::misconfigured, "not asked for here"};
  }
  int descriptor() const noexcept override { return -1; }
  std::shared_ptr<void> follow(const LeaseRecord& record, std::function<void(RecordVersion)> proven) override {
    const auto handle = std::make_shared<int>(0);
    if (!followed.empty()) keptBefore.push_back(!followed.back().handle.expired());
    followed.push_back({record.livenessFile.value().id, std::move(proven), handle});
    return handle;
  }

  std::vector<Followed> followed{};
  std::vector<bool> keptBefore{};  // whether the previous one still existed at each later follow()
};

class LeaseDriverDeathNotice : public testing::Test {
 protected:
  LeaseDriverDeathNotice() {
    world_.store->onDeathNotice = [this] { return deaths_; };
  }
  void becomeCandidate() {
    world_.putOther();
    world_.start();
    world_.pass(1s);
    ASSERT_EQ(world_.driver->status().state, LeaseState::candidate);
    ASSERT_EQ(deaths_->followed.size(), 1U);
  }

  const std::shared_ptr<Deaths> deaths_{std::make_shared<Deaths>()};
  DriverWorld world_;
};

TEST_F(LeaseDriverDeathNotice, endsTheWaitForADeadHolder) {
  becomeCandidate();
  EXPECT_EQ(deaths_->followed[0].livenessFile, "beacon-1");
  std::thread{[&] { deaths_->followed[0].proven(RecordVersion{"other-1"}); }}.join();
  world_.pass(50ms);
  EXPECT_TRUE(world_.leads()) << "long before the ten seconds are over";
  EXPECT_TRUE(deaths_->followed[0].handle.expired()) << "a leader follows nobody";
  ASSERT_EQ(world_.tokens.size(), 1U);
  EXPECT_EQ(world_.stored()->token, world_.tokens[0]);
}

TEST_F(LeaseDriverDeathNotice, withoutProofTheLeaseDecides) {
  becomeCandidate();
  world_.pass(8s);
  EXPECT_FALSE(world_.leads());
  EXPECT_FALSE(deaths_->followed[0].handle.expired());
  EXPECT_EQ(deaths_->followed.size(), 1U) << "the same liveness file is followed once";
  world_.pass(3s);
  EXPECT_TRUE(world_.leads());
}

TEST_F(LeaseDriverDeathNotice, followsTheNextHolderInstead) {
  becomeCandidate();
  LeaseRecord next = world_.stored().value();
  const RecordVersion before = next.version;
  next.holder = "c#3";
  next.version = RecordVersion{"next-1"};
  next.livenessFile->id = "beacon-2";
  world_.store->writeNow({world_.key, WriteRequest::Purpose::acquire, {before}, next, FencingToken{}});
  world_.pass(5s);
  ASSERT_EQ(deaths_->followed.size(), 2U);
  EXPECT_EQ(deaths_->followed[1].livenessFile, "beacon-2");
  EXPECT_EQ(deaths_->keptBefore, std::vector<bool>{false}) << "the old watch ends before the new one begins";

  deaths_->followed[0].proven(before);  // of a holder that no longer holds the lease
  world_.pass(1s);
  EXPECT_FALSE(world_.leads());
  deaths_->followed[1].proven(next.version);
  world_.pass(50ms);
  EXPECT_TRUE(world_.leads());
}

TEST_F(LeaseDriverDeathNotice, proofAfterTheEndIsNothing) {
  becomeCandidate();
  const std::size_t calls = world_.store->calls();
  world_.driver.reset();
  EXPECT_TRUE(deaths_->followed[0].handle.expired());
  deaths_->followed[0].proven(RecordVersion{"other-1"});
  world_.pass(60s);
  EXPECT_EQ(world_.store->calls(), calls);
}

}  // namespace
}  // namespace tenure::test
