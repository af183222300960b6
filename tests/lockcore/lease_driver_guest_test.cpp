// What follows an answer, on the thread of a store that lends it.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/lease_driver.hpp>

#include "lockcore/machine_harness.hpp"
#include "support/manual_scheduler.hpp"
#include "support/seeded_random.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// Keeps its answers until the test gives them. Every write succeeds.
class LendingStore final : public LeaseStore {
 public:
  explicit LendingStore(bool lends) : lends_{lends} {}

  [[nodiscard]] std::string describe() const override { return "lending"; }
  [[nodiscard]] bool lendsItsThread() const noexcept override { return lends_; }
  void ensureSchema(CallOptions /*options*/, StatusHandler handler) override { schema_ = std::move(handler); }
  void read(const LeaseKey& /*key*/, CallOptions /*options*/, ReadHandler handler) override {
    reads_.push_back(std::move(handler));
  }
  void write(WriteRequest request, CallOptions /*options*/, WriteHandler handler) override {
    purposes.push_back(request.purpose);
    writes_.push_back(std::move(handler));
  }
  void list(std::string /*prefix*/, CallOptions /*options*/, ListHandler /*handler*/) override {}
  void requestStepDown(const LeaseKey& /*key*/, FencingToken /*token*/, CallOptions /*options*/,
                       WriteHandler /*handler*/) override {}

  void answerRead() { std::exchange(reads_, {}).at(0)(std::optional<LeaseRecord>{}); }
  void answerWrite() { std::exchange(writes_, {}).at(0)(Applied{FencingToken{1}, false, {}}); }

  std::vector<WriteRequest::Purpose> purposes{};

 private:
  const bool lends_;
  StatusHandler schema_{};
  std::vector<ReadHandler> reads_{};
  std::vector<WriteHandler> writes_{};
};

class LeaseDriverGuest : public testing::Test {
 protected:
  /// Up to where the answer to the acquisition is awaited.
  void begin(bool lends, bool takesGuests) {
    if (takesGuests) scheduler_->takeGuests();
    store_ = std::make_shared<LendingStore>(lends);
    LeaseDriver::Options options{MachineOptions{{"lease"}, selfName, LeaseTiming::from(tenSecondLease()).value()}};
    options.onNotice = [this](const LeaseNotice& notice) {
      if (std::holds_alternative<action::Elected>(notice)) ++elections_;
      if (onNotice_) onNotice_(notice);
    };
    driver_ = std::make_unique<LeaseDriver>(std::move(options), store_, scheduler_, std::make_unique<SeededRandom>(1));
    driver_->submit(event::Start{});
    scheduler_->advance(0s);
    ASSERT_NO_THROW(store_->answerRead());
    EXPECT_EQ(scheduler_->runReady(), 1U) << "reads are answered by the way of the scheduler";
    while (store_->purposes.empty()) ASSERT_TRUE(scheduler_->advanceToNextTimer());
  }

  std::shared_ptr<ManualScheduler> scheduler_{std::make_shared<ManualScheduler>()};
  std::shared_ptr<LendingStore> store_{};
  std::function<void(const LeaseNotice&)> onNotice_{};
  int elections_{0};
  std::unique_ptr<LeaseDriver> driver_{};
};

TEST_F(LeaseDriverGuest, whatFollowsAnAcquisitionIsDoneInsideTheAnswer) {
  begin(true, true);
  store_->answerWrite();
  EXPECT_EQ(elections_, 1);
  EXPECT_TRUE(driver_->term()->load().leadsAt(scheduler_->now()));
  EXPECT_EQ(scheduler_->postedTasks(), 0U);
  EXPECT_GT(scheduler_->timers(), 0U) << "the next heartbeat";
}

TEST_F(LeaseDriverGuest, onlyWhereTheStoreLendsItsThread) {
  begin(false, true);
  store_->answerWrite();
  EXPECT_EQ(elections_, 0);
  scheduler_->runReady();
  EXPECT_EQ(elections_, 1);
}

TEST_F(LeaseDriverGuest, onlyWhereTheSchedulerTakesGuests) {
  begin(true, false);
  store_->answerWrite();
  EXPECT_EQ(elections_, 0);
  scheduler_->runReady();
  EXPECT_EQ(elections_, 1);
}

TEST_F(LeaseDriverGuest, whatWaitsComesFirst) {
  begin(true, true);
  bool ran = false;
  scheduler_->post([&] { ran = true; });
  store_->answerWrite();
  EXPECT_EQ(elections_, 0) << "its turn has not come";
  scheduler_->runReady();
  EXPECT_TRUE(ran);
  EXPECT_EQ(elections_, 1);
}

// A store that answers ten thousand renewals would be kept from the next ones.
TEST_F(LeaseDriverGuest, renewalsAreLeftToTheScheduler) {
  begin(true, true);
  store_->answerWrite();
  scheduler_->advance(4s);
  ASSERT_EQ(store_->purposes.back(), WriteRequest::Purpose::renew);
  store_->answerWrite();
  EXPECT_EQ(scheduler_->postedTasks(), 1U);
}

TEST_F(LeaseDriverGuest, aDriverMayEndInsideTheAnswer) {
  begin(true, true);
  onNotice_ = [this](const LeaseNotice& notice) {
    if (std::holds_alternative<action::Elected>(notice)) driver_.reset();
  };
  store_->answerWrite();
  EXPECT_EQ(driver_, nullptr);
  EXPECT_EQ(elections_, 1);
  scheduler_->advance(1min);
  EXPECT_EQ(store_->purposes.size(), 1U) << "nothing is left of it";
}

}  // namespace
}  // namespace tenure::test
