#include "fence_dynamodb.hpp"

#include <chrono>
#include <future>
#include <stdexcept>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include <tenure/adapters/dynamodb_fence.hpp>

#include "lockcore/aws/make_json_client.hpp"

namespace tenure::bench {
namespace {

std::string named(std::string text, const std::string& table) {
  constexpr std::string_view place = "TABLE";
  for (std::size_t at = 0; (at = text.find(place, at)) != std::string::npos;) text.replace(at, place.size(), table);
  return text;
}

constexpr const char* tableOfItems =
    R"({"TableName":"TABLE","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"key","KeyType":"HASH"}],)"
    R"("AttributeDefinitions":[{"AttributeName":"key","AttributeType":"S"}]})";
constexpr const char* itemOf = R"({"key":{"S":"KEY"},"entry":{"S":"an entry of some forty bytes, as ledgers have"}})";
constexpr const char* entryValue = R"({":e":{"S":"an entry of some forty bytes, as ledgers have"}})";

std::string itemNamed(const std::string& key) {
  std::string item{itemOf};
  return item.replace(item.find("KEY"), 3, key);
}

}  // namespace

class DynamoDbWrites::Impl {
 public:
  Impl(const std::string& endpoint, TermStamp of)
      : stamp{std::move(of)},
        table{fmt::format("tenure-bench-{}", getpid())},
        client_{clientFor(endpoint)},
        fence{optionsFor(table), client_} {
    ask("CreateTable", named(tableOfItems, table));
    ask("UpdateItem",
        named(R"({"TableName":"TABLE","Key":{"key":{"S":"version"}},"UpdateExpression":"SET version = :v",)"
              R"("ExpressionAttributeValues":{":v":{"N":"7"}}})",
              table));
  }
  ~Impl() {
    try {
      ask("DeleteTable", named(R"({"TableName":"TABLE"})", table));
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void ask(const char* operation, const std::string& body) {
    std::promise<aws::JsonOutcome> answer;
    client_->call(std::string{"DynamoDB_20120810."} + operation, body, std::chrono::seconds{10},
                  [&answer](aws::JsonOutcome outcome) { answer.set_value(std::move(outcome)); });
    const auto outcome = answer.get_future().get();
    if (outcome && outcome->status == 200) return;
    throw std::runtime_error(std::string{operation} + ": " + (outcome ? outcome->body : outcome.error().error.message));
  }
  static void done(const FenceResult<DynamoDbWritten>& written) {
    if (written.has_error()) throw std::runtime_error(FenceError{written.error()}.message);
  }

  const TermStamp stamp;
  const std::string table;

 private:
  static std::shared_ptr<aws::JsonClient> clientFor(const std::string& endpoint) {
    aws::JsonClientOptions options;
    options.endpoint = endpoint;
    return aws::makeJsonClient(std::move(options));
  }
  static DynamoDbFenceOptions optionsFor(const std::string& guard) {
    DynamoDbFenceOptions options;
    options.guard.table = guard;
    return options;
  }

  const std::shared_ptr<aws::JsonClient> client_;

 public:
  DynamoDbFence fence;
  const std::string barePut = named(R"({"TableName":"TABLE","Item":)" + itemNamed("bare") + '}', table);
  const std::string conditionalPut =
      named(R"({"TableName":"TABLE","Item":{"key":{"S":"versioned"},"version":{"N":"7"},)"
            R"("entry":{"S":"an entry of some forty bytes, as ledgers have"}},)"
            R"("ConditionExpression":"attribute_not_exists(version) OR version <= :v",)"
            R"("ExpressionAttributeValues":{":v":{"N":"7"}}})",
            table);
  const DynamoDbWrite fencedPut{.table = table, .item = itemNamed("fenced")};
  const std::string bareUpdate = named(
      std::string{R"({"TableName":"TABLE","Key":{"key":{"S":"bare-update"}},"UpdateExpression":"SET entry = :e",)"} +
          R"("ExpressionAttributeValues":)" + entryValue + '}',
      table);
  const DynamoDbWrite fencedUpdate{.kind = DynamoDbWrite::Kind::update,
                                   .table = table,
                                   .item = R"({"key":{"S":"fenced-update"}})",
                                   .update = "SET entry = :e",
                                   .values = entryValue};
  const std::string bareTransaction = R"({"TransactItems":[{"Put":)" + barePut + "}]}";
  const std::string transactionOfTwo =
      named(R"({"TransactItems":[{"Update":{"TableName":"TABLE","Key":{"key":{"S":"version"}},)"
            R"("UpdateExpression":"SET version = :v","ConditionExpression":"version <= :v",)"
            R"("ExpressionAttributeValues":{":v":{"N":"7"}}}},{"Put":)" +
                barePut + "}]}",
            table);
};

DynamoDbWrites::DynamoDbWrites(const std::string& endpoint, TermStamp stamp)
    : impl_{std::make_unique<Impl>(endpoint, std::move(stamp))} {}
DynamoDbWrites::~DynamoDbWrites() = default;

void DynamoDbWrites::barePut() { impl_->ask("PutItem", impl_->barePut); }
void DynamoDbWrites::conditionalPut() { impl_->ask("PutItem", impl_->conditionalPut); }
void DynamoDbWrites::fencedPut() { Impl::done(impl_->fence.write(impl_->stamp, impl_->fencedPut)); }
void DynamoDbWrites::bareUpdate() { impl_->ask("UpdateItem", impl_->bareUpdate); }
void DynamoDbWrites::fencedUpdate() { Impl::done(impl_->fence.write(impl_->stamp, impl_->fencedUpdate)); }
void DynamoDbWrites::bareTransaction() { impl_->ask("TransactWriteItems", impl_->bareTransaction); }
void DynamoDbWrites::transactionOfTwo() { impl_->ask("TransactWriteItems", impl_->transactionOfTwo); }
void DynamoDbWrites::fencedTransaction() { Impl::done(impl_->fence.transact(impl_->stamp, {impl_->fencedPut})); }

}  // namespace tenure::bench
