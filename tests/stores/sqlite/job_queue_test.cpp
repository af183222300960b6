// Which call a worker handles next: no clock, no thread.
#include "lockcore/stores/sqlite/src/job_queue.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/runtime.hpp>

namespace tenure::sqlite_test {
namespace {

using namespace std::chrono_literals;
using sqlite_store::Job;
using sqlite_store::JobQueue;

/// Jobs with names; the test reads the taken ones as one line.
class JobQueueTest : public testing::Test {
 protected:
  void push(const std::string& name, std::optional<WriteRequest::Purpose> batched) {
    Job job{.deadline = {systemClock(), 1s}, .run = {}, .refuse = [this, name](const StoreError&) { taken_ += name; }};
    if (batched) {
      WriteRequest request;
      request.purpose = *batched;
      job.batched = std::make_shared<const WriteRequest>(std::move(request));
    }
    queue_.push(std::move(job));
  }
  void renewal(const std::string& name) { push(name, WriteRequest::Purpose::renew); }
  void release(const std::string& name) { push(name, WriteRequest::Purpose::release); }
  void other(const std::string& name) { push(name, std::nullopt); }
  std::string take() {
    taken_.clear();
    for (const Job& job : queue_.take()) job.refuse({});
    return taken_;
  }

  JobQueue queue_;
  std::string taken_;
};

TEST_F(JobQueueTest, renewalsThatWaitAreTakenTogetherAndOthersAlone) {
  for (const char* name : {"A", "B"}) other(name);
  EXPECT_EQ(take(), "A");
  for (const char* name : {"r", "s"}) renewal(name);
  EXPECT_EQ(take(), "rs");
  EXPECT_EQ(take(), "B");
  EXPECT_TRUE(queue_.empty());
}

TEST_F(JobQueueTest, aRenewalWaitsForOneOtherCallAtMostHoweverManyAreThere) {
  for (int i = 0; i < 1000; ++i) other("A");
  EXPECT_EQ(take(), "A");
  renewal("r");
  EXPECT_EQ(take(), "r");
  renewal("s");
  EXPECT_EQ(take(), "A") << "in turns";
  EXPECT_EQ(take(), "s");
}

TEST_F(JobQueueTest, renewalsWithoutEndStarveNobody) {
  for (const char* name : {"A", "B", "C"}) other(name);
  std::string all;
  for (int i = 0; i < 6; ++i) {
    renewal("r");
    all += take();
  }
  EXPECT_EQ(all, "rArrBrrC");
}

TEST_F(JobQueueTest, releasesOneBehindTheOtherAreOneCallAndOvertakeNothing) {
  for (const char* name : {"x", "y"}) release(name);
  other("A");
  for (const char* name : {"z", "w"}) release(name);
  renewal("r");
  EXPECT_EQ(take(), "r");
  EXPECT_EQ(take(), "xy");
  renewal("s");
  EXPECT_EQ(take(), "s") << "a renewal waits for one batch of releases at most";
  EXPECT_EQ(take(), "A");
  EXPECT_EQ(take(), "zw");
  for (std::size_t i = 0; i < sqlite_store::maxWritesTogether + 1; ++i) release("x");
  EXPECT_EQ(take().size(), sqlite_store::maxWritesTogether);
}

TEST_F(JobQueueTest, aBatchIsBounded) {
  for (std::size_t i = 0; i < 2 * sqlite_store::maxWritesTogether + 1; ++i) renewal("r");
  EXPECT_EQ(take().size(), sqlite_store::maxWritesTogether);
  EXPECT_EQ(take().size(), sqlite_store::maxWritesTogether);
  EXPECT_EQ(take(), "r");
}

TEST_F(JobQueueTest, allOfThemAreTakenAtTheEnd) {
  for (const char* name : {"A", "B"}) other(name);
  for (const char* name : {"r", "s"}) renewal(name);
  EXPECT_EQ(queue_.takeAll().size(), 4U);
  EXPECT_TRUE(queue_.empty());
}

}  // namespace
}  // namespace tenure::sqlite_test
