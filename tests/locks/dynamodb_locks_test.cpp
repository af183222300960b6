// Locks over DynamoDB: between processes, and what a lock costs in requests.
#include <map>
#include <mutex>
#include <random>

#include <gtest/gtest.h>

#include <tenure/lockcore/lock_client.hpp>
#include <tenure/lockcore/stores/dynamodb_store.hpp>

#include "locks/fenced_count.hpp"
#include "locks/workers.hpp"
#include "stores/dynamodb/socket_client.hpp"
#include "support/temp_dir.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// Counts the requests, by operation.
class CountingClient final : public aws::JsonClient {
 public:
  explicit CountingClient(std::shared_ptr<aws::JsonClient> inner) : inner_{std::move(inner)} {}
  void call(std::string target, std::string body, std::chrono::nanoseconds timeout, aws::JsonHandler handler) override {
    {
      const std::lock_guard lock{mutex_};
      ++counts_[target.substr(target.rfind('.') + 1)];
    }
    inner_->call(std::move(target), std::move(body), timeout, std::move(handler));
  }
  [[nodiscard]] std::string describe() const override { return inner_->describe(); }
  [[nodiscard]] std::map<std::string, int> take() {
    const std::lock_guard lock{mutex_};
    return std::exchange(counts_, {});
  }

 private:
  const std::shared_ptr<aws::JsonClient> inner_;
  std::mutex mutex_;
  std::map<std::string, int> counts_{};
};

class DynamoDbLocks : public testing::Test {
 protected:
  DynamoDbLocks() {
    const char* endpoint = std::getenv("TENURE_TEST_DYNAMODB");  // NOLINT(concurrency-mt-unsafe): nobody sets any
    if (endpoint == nullptr) {
      throw std::runtime_error{"TENURE_TEST_DYNAMODB is not set; run: scripts/dynamodb_local -- this program"};
    }
    std::random_device random;
    options_.table = "locks-" + std::to_string(random()) + '-' + std::to_string(random());
    options_.region = "us-east-1";
    options_.endpoint = endpoint;
  }
  void TearDown() override {
    const auto hand = makeSocketClient(options_.endpoint);
    callNow(*hand, "DeleteTable", R"({"TableName":")" + options_.table + "\"}");
  }

  DynamoDbStoreOptions options_;
  TempDir directory_;
};

TEST_F(DynamoDbLocks, eightProcessesCountExactly) {
  const int each = sections(6);
  const CounterFile counter{directory_.file("counter")};
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(spawn([&] {
      LockClient client{makeDynamoDbStore(options_)};
      for (int s = 0; s < each; ++s) {
        LockResult<Lock> lock = client.acquire({"counter"}, {.lease = 3s, .heartbeat = 300ms, .waitFor = 200s});
        if (lock.has_error()) return 1;
        counter.increment();
        if (!lock->isHeld()) return 2;
        if (lock->release() != ReleaseResult::released) return 3;
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(exitOf(child), 0);
  EXPECT_EQ(counter.read(), 8 * each);
}

TEST_F(DynamoDbLocks, fencedCountsAreExactUnderKillsAndStops) {
  const int each = sections(3);
  const int faults = std::min(2 * each, 40);
  const FencedCount count{[this] { return makeDynamoDbStore(options_); }, directory_.file("ledger.db"), 1s, each,
                          faults};
  count.runUnderKillsAndStops();
}

TEST_F(DynamoDbLocks, theRequestsOfALockAreExactlyThese) {
  using Counts = std::map<std::string, int>;
  const auto counting = std::make_shared<CountingClient>(makeSocketClient(options_.endpoint));
  LockClient client{makeDynamoDbStore(options_, counting, Logger{})};
  { const Lock first = client.acquire({"first"}).value(); }  // creates the table
  (void)counting->take();
  Lock lock = client.acquire({"orders"}).value();
  EXPECT_EQ(counting->take(), (Counts{{"GetItem", 2}, {"BatchGetItem", 2}, {"TransactWriteItems", 1}}))
      << "a look at what is not there, and an acquisition with its proof";
  EXPECT_TRUE(lock.renew().has_value());
  EXPECT_EQ(counting->take(), (Counts{{"UpdateItem", 1}}));
  EXPECT_TRUE(lock.setData("x").has_value());
  EXPECT_EQ(counting->take(), (Counts{{"UpdateItem", 1}}));
  EXPECT_TRUE(lock.clearData().has_value());
  EXPECT_EQ(lock.release(), ReleaseResult::released);
  EXPECT_EQ(counting->take(), (Counts{{"UpdateItem", 2}}));
  { const Lock plain = client.acquire({"plain"}).value(); }
  (void)counting->take();
  const Lock again = client.acquire({"plain"}).value();
  EXPECT_EQ(counting->take(), (Counts{{"BatchGetItem", 1}, {"TransactWriteItems", 1}, {"GetItem", 1}}))
      << "its own release needs no look";
  LockClient other{makeDynamoDbStore(options_, counting, Logger{})};
  (void)other.tryAcquire({"plain"});
  (void)counting->take();
  EXPECT_EQ(other.tryAcquire({"plain"}).error().code, LockErrc::held);
  EXPECT_EQ(counting->take(), (Counts{{"GetItem", 1}})) << "S3-35: who waits only reads";
}

TEST_F(DynamoDbLocks, whatCallsSaidIsInTheItem) {
  LockClient client{makeDynamoDbStore(options_)};
  const auto hand = makeSocketClient(options_.endpoint);
  const auto item = [&] {
    return callNow(*hand, "GetItem",
                   R"({"TableName":")" + options_.table + R"(","ConsistentRead":true,"Key":{"key":{"S":"orders"}}})");
  };
  Lock lock = client.acquire({"orders"}, {.lease = 2s, .data = "abc", .attributes = {{"site", "berlin"}}}).value();
  EXPECT_NE(item().find(R"("leaseDuration":{"S":"2000"})"), std::string::npos) << item();
  EXPECT_NE(item().find(R"("data":{"B":"YWJj"})"), std::string::npos) << item();
  EXPECT_NE(item().find(R"("site":{"S":"berlin"})"), std::string::npos) << item();
  EXPECT_NE(item().find(client.candidate()), std::string::npos);
  EXPECT_TRUE(lock.renew({.lease = 5s, .clearData = true}).has_value());
  EXPECT_NE(item().find(R"("leaseDuration":{"S":"5000"})"), std::string::npos) << item();
  EXPECT_EQ(item().find(R"("data":)"), std::string::npos) << item();
  EXPECT_EQ(lock.release({.data = "xyz"}), ReleaseResult::released);
  EXPECT_NE(item().find(R"("isReleased":{"S":"1"})"), std::string::npos) << item();
  EXPECT_NE(item().find(R"("data":{"B":"eHl6"})"), std::string::npos) << item();
  lock = client.acquire({"orders"}, {.data = "mine", .replaceData = false}).value();
  EXPECT_EQ(lock.data(), "xyz");
  EXPECT_EQ(item().find("isReleased"), std::string::npos) << item();
  EXPECT_EQ(lock.release({.deleteRecord = true}), ReleaseResult::released);
  EXPECT_EQ(item(), "{}");
  EXPECT_EQ(client.acquire({"orders"})->fencingToken(), FencingToken{3}) << "S2-38";
}

}  // namespace
}  // namespace tenure::test
