#include <cstdlib>
#include <random>
#include <stdexcept>

#include <tenure/lockcore/stores/dynamodb_store.hpp>

#include "contract/store_contract.hpp"
#include "stores/dynamodb/socket_client.hpp"

namespace tenure::contract {
namespace {

std::string endpoint() {
  const char* value = std::getenv("TENURE_TEST_DYNAMODB");  // NOLINT(concurrency-mt-unsafe): nobody sets any
  if (value == nullptr) {
    throw std::runtime_error{"TENURE_TEST_DYNAMODB is not set; run: scripts/dynamodb_local -- this program"};
  }
  return value;
}

/// A table for each test. The operator's client writes to it without the store's code.
class DynamoDbFixture final : public StoreFixture {
 public:
  DynamoDbFixture() {
    std::random_device random;
    options_.table = "contract-" + std::to_string(random()) + '-' + std::to_string(random());
    options_.sortKey = "sort";
  }
  ~DynamoDbFixture() override {
    try {
      test::callNow(*hand_, "DeleteTable", R"({"TableName":")" + options_.table + "\"}");
    } catch (const std::exception& fault) {
      ADD_FAILURE() << fault.what();
    }
  }
  DynamoDbFixture(const DynamoDbFixture&) = delete;
  DynamoDbFixture& operator=(const DynamoDbFixture&) = delete;

  std::shared_ptr<LeaseStore> open() override {
    return makeDynamoDbStore(options_, test::makeSocketClient(endpoint()), {});
  }

  void eraseRecord(const LeaseKey& key) override { erase(key, ""); }
  void eraseCounter(const LeaseKey& key) override { erase(key, "#fence"); }

  /// As Go's dynamolock takes the lease over: by its own item with its own version.
  void corruptRecord(const LeaseKey& key) override {
    test::callNow(*hand_, "PutItem",
                  R"({"TableName":")" + options_.table + R"(","Item":)" +
                      item(key, "",
                           R"(,"ownerName":{"S":"GE3PQRSCAVA7"},"leaseDuration":{"S":"20s"},)"
                           R"("recordVersionNumber":{"S":"1795250606229348498:7ZUR3IND"})") +
                      '}');
  }

  void setToken(const LeaseKey& key, std::uint64_t token) override {
    for (const char* suffix : {"", "#fence"}) {
      test::callNow(*hand_, "UpdateItem",
                    R"({"TableName":")" + options_.table + R"(","Key":)" + item(key, suffix, "") +
                        R"(,"UpdateExpression":"SET tenureToken = :t","ExpressionAttributeValues":{":t":{"N":")" +
                        std::to_string(token) + R"("}}})");
    }
  }

 private:
  void erase(const LeaseKey& key, const std::string& suffix) {
    const std::string body = test::callNow(
        *hand_, "DeleteItem",
        R"({"TableName":")" + options_.table + R"(","Key":)" + item(key, suffix, "") + R"(,"ReturnValues":"ALL_OLD"})");
    if (body.find("Attributes") == std::string::npos) throw std::runtime_error{"no item " + toString(key) + suffix};
  }

  static std::string item(const LeaseKey& key, const std::string& suffix, const std::string& more) {
    return R"({"key":{"S":")" + key.name + suffix + R"("},"sort":{"S":")" + (key.sortKey.empty() ? "-" : key.sortKey) +
           "\"}" + more + '}';
  }

  DynamoDbStoreOptions options_;
  const std::shared_ptr<aws::JsonClient> hand_ = test::makeSocketClient(endpoint());
};

const StoreUnderTest dynamodb{"DynamoDb", [] { return std::make_unique<DynamoDbFixture>(); }};

INSTANTIATE_TEST_SUITE_P(DynamoDb, StoreContract, testing::Values(dynamodb), storeName);
INSTANTIATE_TEST_SUITE_P(DynamoDb, StoreRemoveContract, testing::Values(dynamodb), storeName);
INSTANTIATE_TEST_SUITE_P(DynamoDb, StoreRecoverContract, testing::Values(dynamodb), storeName);
INSTANTIATE_TEST_SUITE_P(DynamoDb, StoreOperatorContract, testing::Values(dynamodb), storeName);
INSTANTIATE_TEST_SUITE_P(DynamoDb, StoreDurableContract, testing::Values(dynamodb), storeName);

}  // namespace
}  // namespace tenure::contract
