// What only the memory store promises: everything runs on the given scheduler.
#include <string>

#include <gtest/gtest.h>

#include <tenure/lockcore/stores/memory_store.hpp>
#include <tenure/testing/manual_runtime.hpp>

#include "contract/store_calls.hpp"

namespace tenure {
namespace {

using contract::acquire;
using contract::renew;

class MemoryStoreTest : public testing::Test {
 protected:
  std::shared_ptr<test::ManualScheduler> scheduler_ = std::make_shared<test::ManualScheduler>();
  std::shared_ptr<LeaseStore> store_ = makeMemoryStore(scheduler_);
};

TEST_F(MemoryStoreTest, describesItself) { EXPECT_EQ(store_->describe(), "memory (single process)"); }

TEST_F(MemoryStoreTest, takesEffectInTheCallAndAnswersOnTheScheduler) {
  std::string order;
  store_->write(acquire({"lease"}, "a"), {}, [&](const WriteOutcome& outcome) {
    EXPECT_TRUE(std::holds_alternative<Applied>(outcome));
    EXPECT_TRUE(scheduler_->isCurrent());
    order += 'w';
  });
  store_->read({"lease"}, {}, [&](const ReadOutcome& outcome) {
    EXPECT_TRUE(outcome->has_value());
    order += 'r';
  });
  EXPECT_EQ(order, "");
  scheduler_->runReady();
  EXPECT_EQ(order, "wr");
}

TEST_F(MemoryStoreTest, answersAlsoWhenItIsGone) {
  int answers = 0;
  store_->write(acquire({"lease"}, "a"), {}, [&](const WriteOutcome&) { ++answers; });
  store_->list("", {}, [&](const ListOutcome&) { ++answers; });
  store_->ensureSchema({}, [&](const StoreStatus&) { ++answers; });
  store_.reset();
  scheduler_->runReady();
  EXPECT_EQ(answers, 3);
}

TEST(MemoryStoreOnTheSharedScheduler, answersAlsoWhenItWentAndTookTheSchedulerAlong) {
  for (int round = 0; round < 200; ++round) {
    auto written = std::make_shared<contract::Reply<WriteOutcome>>("write");
    auto read = std::make_shared<contract::Reply<ReadOutcome>>("read");
    auto store = makeMemoryStore();
    store->write(acquire({"lease"}, "a"), {}, [written](WriteOutcome outcome) { written->answer(std::move(outcome)); });
    store->read({"lease"}, {}, [read](ReadOutcome outcome) { read->answer(std::move(outcome)); });
    store.reset();
    ASSERT_TRUE(std::holds_alternative<Applied>(written->get()));
    ASSERT_TRUE(read->get().has_value());
  }
}

TEST_F(MemoryStoreTest, manyChangesBeforeAHintRunsCostOneHint) {
  int hints = 0;
  const auto watch = store_->watch({"lease"}, [&] { ++hints; });
  const auto ignore = [](const WriteOutcome&) {};
  WriteRequest request = acquire({"lease"}, "a");
  RecordVersion version = request.record.version;
  store_->write(std::move(request), {}, ignore);
  for (int i = 0; i < 5; ++i) {
    request = renew({"lease"}, "a", {version});
    version = request.record.version;
    store_->write(std::move(request), {}, ignore);
  }
  EXPECT_EQ(hints, 0);
  scheduler_->runReady();
  EXPECT_EQ(hints, 1);
  store_->write(renew({"lease"}, "a", {version}), {}, ignore);
  scheduler_->runReady();
  EXPECT_EQ(hints, 2);
}

TEST_F(MemoryStoreTest, aHintMayEndItsOwnWatch) {
  int hints = 0;
  std::shared_ptr<void> watch;
  watch = store_->watch({"lease"}, [&] {
    ++hints;
    watch.reset();
  });
  WriteRequest first = acquire({"lease"}, "a");
  const RecordVersion version = first.record.version;
  store_->write(std::move(first), {}, [](const WriteOutcome&) {});
  scheduler_->runReady();
  store_->write(renew({"lease"}, "a", {version}), {}, [](const WriteOutcome&) {});
  scheduler_->runReady();
  EXPECT_EQ(hints, 1);
}

}  // namespace
}  // namespace tenure
