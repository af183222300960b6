// A table of the test's own, accessed without the adapter.
#pragma once

#include <future>
#include <stdexcept>
#include <string>
#include <thread>

#include <boost/json.hpp>

#include "lockcore/aws/make_json_client.hpp"
#include "lockcore/runtime/system_random.hpp"

namespace tenure::test {

inline aws::JsonClientOptions clientOptions() {
  const char* endpoint = std::getenv("TENURE_TEST_DYNAMODB");
  aws::JsonClientOptions options;
  options.endpoint = endpoint == nullptr ? "" : endpoint;
  return options;
}

class BareTable {
 public:
  explicit BareTable(std::string name) : name_{std::move(name)} {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// Random, because processes of two namespaces can have the same number.
  [[nodiscard]] static std::string freshName() { return "fence-" + std::to_string(SystemRandom{}.next()); }

  void create() {
    (void)ask("CreateTable",
              {{"TableName", name_},
               {"BillingMode", "PAY_PER_REQUEST"},
               {"KeySchema", boost::json::array{{{"AttributeName", "key"}, {"KeyType", "HASH"}}}},
               {"AttributeDefinitions", boost::json::array{{{"AttributeName", "key"}, {"AttributeType", "S"}}}}});
    // AWS takes some seconds to make a table; a server for tests answers when it is there.
    for (int looks = 0; looks < 300; ++looks) {
      if (ask("DescribeTable", {{"TableName", name_}}).at("Table").at("TableStatus") == "ACTIVE") return;
      std::this_thread::sleep_for(std::chrono::milliseconds{200});
    }
    throw std::runtime_error{"table " + name_ + " is still not active after a minute"};
  }
  void drop() { (void)ask("DeleteTable", {{"TableName", name_}}); }

  boost::json::object ask(const std::string& operation, const boost::json::object& body) {
    std::promise<aws::JsonOutcome> answer;
    client_->call("DynamoDB_20120810." + operation, boost::json::serialize(body), std::chrono::seconds{30},
                  [&answer](aws::JsonOutcome outcome) { answer.set_value(std::move(outcome)); });
    const auto outcome = answer.get_future().get();
    if (!outcome || outcome->status != 200) {
      throw std::runtime_error{operation + ": " + (outcome ? outcome->body : outcome.error().error.message)};
    }
    return boost::json::parse(outcome->body).as_object();
  }

  /// The item of that key; empty if there is none.
  boost::json::object item(const std::string& key) {
    auto reply = ask("GetItem", {{"TableName", name_}, {"Key", {{"key", {{"S", key}}}}}, {"ConsistentRead", true}});
    return reply.contains("Item") ? reply["Item"].as_object() : boost::json::object{};
  }

 private:
  std::string name_;
  std::shared_ptr<aws::JsonClient> client_{aws::makeJsonClient(clientOptions())};
};

}  // namespace tenure::test
