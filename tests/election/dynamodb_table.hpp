// A table for one test of electors, and direct access to it without the store's code.
#pragma once

#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <tenure/election/leader_elector.hpp>
#include <tenure/lockcore/stores/dynamodb_store.hpp>

#include "election/stage.hpp"
#include "stores/dynamodb/socket_client.hpp"
#include "support/lateness_probe.hpp"

namespace tenure::test {

inline std::string dynamoDbEndpoint() {
  const char* value = std::getenv("TENURE_TEST_DYNAMODB");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  if (value == nullptr) {
    throw std::runtime_error{"TENURE_TEST_DYNAMODB is not set; run: scripts/dynamodb_local -- this program"};
  }
  return value;
}

/// The first elector, or make(), creates the table; it is deleted after the test.
class DynamoDbTable : public testing::Test {
 protected:
  static constexpr std::chrono::milliseconds lease{2'400};  ///< outlasts a machine that stands still for a second
  static constexpr std::chrono::milliseconds heartbeat{300};
  /// How long a few round trips to the test's server may take, plus how late the machine is.
  [[nodiscard]] std::chrono::nanoseconds margin() const { return std::chrono::milliseconds{500} + 4 * lateness(); }
  [[nodiscard]] std::chrono::nanoseconds lateness() const { return probe_.worst(); }

  DynamoDbTable() {
    std::random_device random;
    options_.table = "election-" + std::to_string(random()) + '-' + std::to_string(random());
    options_.region = "us-east-1";
    options_.endpoint = dynamoDbEndpoint();
  }
  void TearDown() override { call("DeleteTable", ""); }

  /// A store with its own connections, as another process would have it.
  [[nodiscard]] std::shared_ptr<LeaseStore> store() const { return makeDynamoDbStore(options_); }

  /// An elector that is started and records all its callbacks.
  [[nodiscard]] static std::unique_ptr<LeaderElector> elector(const std::string& id, std::shared_ptr<LeaseStore> store,
                                                              Record& record,
                                                              std::chrono::milliseconds duration = lease) {
    Group group =
        Group::make({"elected", {id}, {.duration = duration, .heartbeat = heartbeat}}, std::move(store)).value();
    auto made = std::make_unique<LeaderElector>(std::move(group), record.terms());
    made->addListener(record.notices());
    made->start();
    return made;
  }

  std::string call(const std::string& operation, const std::string& members) {
    return callNow(*hand_, operation, R"({"TableName":")" + options_.table + '"' + members + '}');
  }
  void make(const std::string& partitionKey) {
    const std::string name = R"({"AttributeName":")" + partitionKey + '"';
    call("CreateTable", R"(,"BillingMode":"PAY_PER_REQUEST","KeySchema":[)" + name + R"(,"KeyType":"HASH"}],)" +
                            R"("AttributeDefinitions":[)" + name + R"(,"AttributeType":"S"}])");
  }
  void erase(const std::string& key) {
    const std::string row = call("DeleteItem", R"(,"Key":{"key":{"S":")" + key + R"("}},"ReturnValues":"ALL_OLD")");
    EXPECT_NE(row.find("Attributes"), std::string::npos) << "there was no row " << key;
  }

  DynamoDbStoreOptions options_;

 private:
  const LatenessProbe probe_;
  const std::shared_ptr<aws::JsonClient> hand_ = makeSocketClient(dynamoDbEndpoint());
};

}  // namespace tenure::test
