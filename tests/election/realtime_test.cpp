// The elector as programs use it: the shared renewal thread, callback threads, the real clock.
#include <thread>

#include <gtest/gtest.h>

#include <tenure/lockcore/stores/memory_store.hpp>

#include "election/stage.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

class RealTime : public testing::Test {
 protected:
  std::unique_ptr<LeaderElector> elector(const std::string& id, Record& record, std::chrono::milliseconds lease = 1s) {
    auto group = Group::make({.group = "real", .candidate = {.id = id}, .lease = {.duration = lease}}, store_).value();
    auto made = std::make_unique<LeaderElector>(std::move(group), record.terms());
    made->start();
    return made;
  }

  const std::shared_ptr<FaultStore> store_{std::make_shared<FaultStore>(makeMemoryStore(), sharedScheduler())};
};

TEST_F(RealTime, aReleasedLeaseChangesHandsInOrder) {
  Record record;
  auto a = elector("a", record, 30s);
  ASSERT_TRUE(eventually([&] { return a->isLeader(); }));
  auto b = elector("b", record, 30s);
  EXPECT_EQ(a->stop(), ReleaseResult::released);
  EXPECT_TRUE(eventually([&] { return b->isLeader() && record.count("elected 2") == 1; }));
  EXPECT_EQ(record.lines(), (std::vector<std::string>{"elected 1", "revoked 1 stopped", "elected 2"}));
  EXPECT_EQ(b->fencingToken(), FencingToken{2});
}

TEST_F(RealTime, aStoreThatHangsCostsTheTermOnTime) {
  Record record;
  auto a = elector("a", record);
  ASSERT_TRUE(eventually([&] { return record.count("elected") == 1; }));
  const Leadership term = record.term();
  store_->setAll(Fault::neverLost);
  const Instant hung = readClock();
  ASSERT_TRUE(eventually([&] { return record.count("revoked") == 1; }));
  EXPECT_FALSE(term.leads());
  EXPECT_TRUE(term.stopToken().stop_requested());
  EXPECT_EQ(record.why().reason, RevokeReason::storeUnreachable);
  EXPECT_LT(elapsedForHolder(hung, readClock()), 10s);
  store_->setAll(Fault::none);
  EXPECT_TRUE(eventually([&] { return record.count("elected") == 2; }));
}

TEST_F(RealTime, stopTakesNoLongerThanItSays) {
  Record record;
  auto a = elector("a", record);
  ASSERT_TRUE(eventually([&] { return record.count("elected") == 1; }));
  store_->setAll(Fault::neverLost);
  const Instant asked = readClock();
  EXPECT_EQ(a->stop(), ReleaseResult::unknown);
  EXPECT_LT(elapsedForHolder(asked, readClock()), 1s + 1s + 1s + 2s) << "drain, lease, a second; two for the machine";
  EXPECT_EQ(record.count("revoked"), 1);
}

}  // namespace
}  // namespace tenure::test
