// Listings of a table that DynamoDB returns in many pages: all rows are there, and a scan keeps no more than a page.
#include <algorithm>
#include <atomic>
#include <malloc.h>
#include <random>

#include <gtest/gtest.h>

#include <tenure/lockcore/lock_client.hpp>
#include <tenure/lockcore/stores/dynamodb_store.hpp>

#include "stores/dynamodb/many_rows.hpp"
#include "stores/dynamodb/socket_client.hpp"

namespace tenure::test {
namespace {

constexpr int rows = 3'000;
constexpr std::size_t rowBytes = 3'500;  // DynamoDB ends a page after 1 MB

class CountingScans final : public aws::JsonClient {
 public:
  explicit CountingScans(std::shared_ptr<aws::JsonClient> inner) : inner_{std::move(inner)} {}
  void call(std::string target, std::string body, std::chrono::nanoseconds timeout, aws::JsonHandler handler) override {
    scans_ += target.ends_with(".Scan") ? 1 : 0;
    inner_->call(std::move(target), std::move(body), timeout, std::move(handler));
  }
  [[nodiscard]] std::string describe() const override { return inner_->describe(); }
  [[nodiscard]] int scans() const { return scans_; }

 private:
  const std::shared_ptr<aws::JsonClient> inner_;
  std::atomic<int> scans_{0};
};

/// The allocated bytes at this moment; zero under the sanitizers, which have their own allocator.
std::int64_t bytesInUse() {
  const auto heap = mallinfo2();
  return static_cast<std::int64_t>(heap.uordblks + heap.hblkhd);
}

class LockListing : public testing::Test {
 protected:
  LockListing() {
    const char* endpoint = std::getenv("TENURE_TEST_DYNAMODB");  // NOLINT(concurrency-mt-unsafe): nobody sets any
    if (endpoint == nullptr) {
      throw std::runtime_error{"TENURE_TEST_DYNAMODB is not set; run: scripts/dynamodb_local -- this program"};
    }
    std::random_device random;
    options_.table = "locks-" + std::to_string(random()) + '-' + std::to_string(random());
    options_.region = "us-east-1";
    options_.endpoint = endpoint;
    hand_ = makeSocketClient(endpoint);
    counting_ = std::make_shared<CountingScans>(makeSocketClient(endpoint));
    client_ = std::make_unique<LockClient>(makeDynamoDbStore(options_, counting_, Logger{}));
    { const Lock first = client_->acquire({"held"}).value(); }  // creates the table
    putRows(*hand_, options_.table, "row-", rows, rowBytes);
  }
  void TearDown() override { callNow(*hand_, "DeleteTable", R"({"TableName":")" + options_.table + "\"}"); }

  DynamoDbStoreOptions options_;
  std::shared_ptr<aws::JsonClient> hand_;
  std::shared_ptr<CountingScans> counting_;
  std::unique_ptr<LockClient> client_;
};

TEST_F(LockListing, threeThousandRowsInManyPagesAreListedInOrder) {
  LockClient client{makeDynamoDbStore(options_)};  // uses the client that users have, which limits replies
  const auto listed = client.list("row-");
  ASSERT_TRUE(listed.has_value()) << listed.error().message;
  EXPECT_EQ(listed->size(), std::size_t{rows});
  for (std::size_t i = 0; i < listed->size(); ++i) {
    ASSERT_EQ((*listed)[i].key().name, rowName("row-", static_cast<int>(i)));
    ASSERT_TRUE((*listed)[i].isHeld());
    ASSERT_EQ((*listed)[i].attributes().at("padding").size(), rowBytes);
  }
}

TEST_F(LockListing, aScanSeesThemAllAndKeepsOnePageAtATime) {
  std::vector<std::string> names;
  names.reserve(rows);
  std::int64_t most = 0;
  const std::int64_t before = bytesInUse();
  const auto scanned = client_->scan("row-", [&](const LeaseView& row) {
    names.push_back(row.key().name);
    if (names.size() % 50 == 0) most = std::max(most, bytesInUse() - before);
    return true;
  });
  ASSERT_TRUE(scanned.has_value()) << scanned.error().message;
  EXPECT_GE(counting_->scans(), 10);
  std::sort(names.begin(), names.end());
  ASSERT_EQ(names.size(), std::size_t{rows});
  for (int i = 0; i < rows; ++i) ASSERT_EQ(names[static_cast<std::size_t>(i)], rowName("row-", i));

  // One page as text, as parsed JSON and as records; the first two may or may not be freed when a row is shown.
  EXPECT_LE(most, std::int64_t{rows} * static_cast<std::int64_t>(rowBytes) / 2) << "one page of the eleven";
  RecordProperty("KiB_kept", static_cast<int>(most / 1024));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const auto listed = client_->list("row-");
  EXPECT_GE(bytesInUse() - before, std::int64_t{rows} * static_cast<std::int64_t>(rowBytes)) << "which this sees";
#endif
}

TEST_F(LockListing, aScanThatEndsEarlyAsksForNoFurtherPage) {
  int seen = 0;
  const auto scanned = client_->scan("row-", [&](const LeaseView&) { return ++seen < 5; });
  ASSERT_TRUE(scanned.has_value()) << scanned.error().message;
  EXPECT_EQ(seen, 5);
  EXPECT_EQ(counting_->scans(), 1);
}

}  // namespace
}  // namespace tenure::test
