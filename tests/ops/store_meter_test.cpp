// What a metered store counts. It must answer as the store behind it does: the contract tests of stores run over it
// too.
#include <algorithm>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <tenure/lockcore/stores/memory_store.hpp>
#include <tenure/ops/metrics.hpp>
#include <tenure/testing/manual_runtime.hpp>

#include "lockcore/port/extended_store.hpp"
#include "support/fault_store.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

class StoreMeter : public ::testing::Test {
 protected:
  std::shared_ptr<ManualScheduler> scheduler_{std::make_shared<ManualScheduler>()};
  std::shared_ptr<LeaseStore> memory_{makeMemoryStore(scheduler_)};
  ops::MeteredStore metered_{ops::metered(memory_, "memory")};
  const LeaseKey key_{"g"};

  WriteOutcome write(WriteRequest request) {
    std::optional<WriteOutcome> out;
    metered_.store->write(std::move(request), {.timeout = 1s}, [&](WriteOutcome outcome) { out = std::move(outcome); });
    scheduler_->runReady();
    return std::move(*out);
  }
  void read() {
    metered_.store->read(key_, {.timeout = 1s}, [](const ReadOutcome&) {});
    scheduler_->runReady();
  }
  [[nodiscard]] std::string text() const { return ops::openMetricsText({}, metered_.metrics()); }
  [[nodiscard]] WriteRequest acquisition() const {
    WriteRequest request{key_};
    request.record.holder = "a#1";
    request.record.version = RecordVersion{"v1"};
    request.record.leaseDuration = 10s;
    return request;
  }
};

TEST_F(StoreMeter, CountsByOperationAndOutcome) {
  read();
  read();
  EXPECT_TRUE(std::holds_alternative<Applied>(write(acquisition())));
  EXPECT_TRUE(std::holds_alternative<Conflict>(write(acquisition())));
  for (const char* line : {
           R"(tenure_store_requests_total{store="memory",operation="read",outcome="answered"} 2)",
           R"(tenure_store_requests_total{store="memory",operation="acquire",outcome="applied"} 1)",
           R"(tenure_store_requests_total{store="memory",operation="acquire",outcome="conflict"} 1)",
           R"(tenure_store_request_duration_seconds_count{store="memory",operation="acquire"} 2)",
           R"(tenure_store_request_duration_seconds_bucket{store="memory",operation="read",le="+Inf"} 2)",
       }) {
    EXPECT_NE(text().find(std::string{line} + "\n"), std::string::npos) << line << "\n" << text();
  }
  EXPECT_EQ(text().find("\"renew\""), std::string::npos) << text() << "operations that were not asked have no series";
}

TEST_F(StoreMeter, IsTheStoreBehindItToWhoeverAsks) {
  EXPECT_EQ(metered_.store->describe(), memory_->describe());
  EXPECT_EQ(extended(metered_.store)->keepsGroupsTogether(), extended(memory_)->keepsGroupsTogether());
  EXPECT_EQ(extended(metered_.store)->deathNotice(), extended(memory_)->deathNotice());
}

}  // namespace
}  // namespace tenure::test
