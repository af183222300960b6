// Which answers a fence for DynamoDB accepts as DynamoDB's, and which it does not: no server, scripted answers.
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <tenure/adapters/dynamodb_fence.hpp>

#include "lockcore/aws/json_client.hpp"

namespace tenure {
namespace {

const TermStamp stamp{"billing", FencingToken{5}, "a#1"};

/// Gives the same answer to every request.
class LyingService final : public aws::JsonClient {
 public:
  LyingService(int status, std::string body) : status_{status}, body_{std::move(body)} {}

  void call(std::string, std::string body, std::chrono::nanoseconds, aws::JsonHandler handler) override {
    asked_ = std::move(body);
    handler(aws::JsonReply{status_, body_, "id"});
  }
  [[nodiscard]] std::string describe() const override { return "scripted"; }
  [[nodiscard]] const std::string& asked() const noexcept { return asked_; }

 private:
  const int status_;
  const std::string body_;
  std::string asked_{};
};

DynamoDbFence over(const std::shared_ptr<LyingService>& service) {
  DynamoDbFenceOptions options;
  options.guard.table = "t";
  return DynamoDbFence{options, service};
}

const DynamoDbWrite put{.table = "t", .item = R"({"key":{"S":"one"}})"};
const DynamoDbWrite update{.kind = DynamoDbWrite::Kind::update,
                           .table = "t",
                           .item = R"({"key":{"S":"one"}})",
                           .update = "SET n = :n",
                           .values = R"({":n":{"N":"1"}})"};

/// Answers with status 200 that something between the fence and DynamoDB may give.
constexpr const char* lies[] = {
    "",
    "{}",
    "<html>welcome</html>",
    "[]",
    R"({"ConsumedCapacity":{}})",
    R"({"ConsumedCapacity":[]})",
    R"({"ConsumedCapacity":[{"CapacityUnits":1.0}]})",
    R"({"ConsumedCapacity":true})",
    R"({"__type":"com.amazon.coral.service#InternalServerError"})",
    R"({"__type":"x#ConditionalCheckFailedException","ConsumedCapacity":{"TableName":"t"}})",
    R"({"__type":"x#InternalServerError","ConsumedCapacity":{"TableName":"t"}})"};

TEST(DynamoDbAnswers, aWriteIsDoneOnlyIfTheAnswerTellsTheConsumedCapacity) {
  for (const char* lie : lies) {
    const auto service = std::make_shared<LyingService>(200, lie);
    DynamoDbFence fence = over(service);
    for (const auto& written : {fence.write(stamp, put), fence.write(stamp, update), fence.transact(stamp, {put})}) {
      ASSERT_TRUE(written.has_error()) << lie;
      const FenceError error = written.error();
      ASSERT_NE(error.writeError(), nullptr) << lie;
      EXPECT_TRUE(error.writeError()->mayBeWritten) << lie;
    }
  }
}

TEST(DynamoDbAnswers, thatThereIsNoTokenIsBelievedOnlyWithTheConsumedCapacity) {
  for (const char* lie : lies) {
    EXPECT_TRUE(over(std::make_shared<LyingService>(200, lie)).highestSeen("billing").has_error()) << lie;
  }
  const auto honest =
      std::make_shared<LyingService>(200, R"({"ConsumedCapacity":{"TableName":"t","CapacityUnits":1}})");
  EXPECT_EQ(over(honest).highestSeen("billing").value(), std::nullopt);
  EXPECT_NE(honest->asked().find(R"("ReturnConsumedCapacity":"TOTAL")"), std::string::npos) << honest->asked();
}

TEST(DynamoDbAnswers, theServicesOwnAnswersAreSuccesses) {
  const auto one = std::make_shared<LyingService>(200, R"({"ConsumedCapacity":{"TableName":"t","CapacityUnits":2.0}})");
  EXPECT_EQ(over(one).write(stamp, put).value(), DynamoDbWritten::done);
  EXPECT_EQ(over(one).write(stamp, update).value(), DynamoDbWritten::done);
  const auto many =
      std::make_shared<LyingService>(200, R"({"ConsumedCapacity":[{"TableName":"t"},{"TableName":"u"}]})");
  EXPECT_EQ(over(many).transact(stamp, {put}).value(), DynamoDbWritten::done);
}

TEST(DynamoDbAnswers, anUpdateKeepsItsExpressionAroundTheTerm) {
  const auto service = std::make_shared<LyingService>(200, "{}");
  const auto sent = [&](const std::string& expression) {
    DynamoDbWrite write = update;
    write.update = expression;
    EXPECT_TRUE(over(service).write(stamp, write).has_error()) << "a lie is no answer";
    const std::string name = R"("UpdateExpression":")";
    const std::size_t begin = service->asked().find(name) + name.size();
    return service->asked().substr(begin, service->asked().find('"', begin) - begin);
  };
  EXPECT_EQ(sent("SET n = :n"), "SET #tenureFence = :tenureTerm, n = :n");
  EXPECT_EQ(sent("REMOVE gone SET n = :n"), "REMOVE gone SET #tenureFence = :tenureTerm, n = :n");
  EXPECT_EQ(sent("REMOVE gone set n = :n"), "REMOVE gone set #tenureFence = :tenureTerm, n = :n");
  EXPECT_EQ(sent("ADD ASSET :n"), "SET #tenureFence = :tenureTerm ADD ASSET :n");
}

TEST(DynamoDbAnswers, aConditionThatWouldOpenTheFenceIsNotSent) {
  const auto service = std::make_shared<LyingService>(200, R"({"ConsumedCapacity":{"TableName":"t"}})");
  DynamoDbWrite write = put;
  for (const char* open : {"b = :x) OR (attribute_exists(id)", "(b = :x", "b = :x)", ")("}) {
    write.condition = open;
    const auto written = over(service).write(stamp, write);
    ASSERT_TRUE(written.has_error()) << service->asked();
    EXPECT_EQ(FenceError{written.error()}.writeError()->error.errorClass, ErrorClass::misconfigured);
  }
  EXPECT_EQ(service->asked(), "");
  write.condition = "(b = :x OR size(b) > :x) AND attribute_exists(id)";
  EXPECT_EQ(over(service).write(stamp, write).value(), DynamoDbWritten::done);
}

/// Services that do not know ReturnValuesOnConditionCheckFailure do not show the item.
TEST(DynamoDbAnswers, aRefusalByTheFenceIsNotTakenForTheCallersCondition) {
  const std::string bare = R"({"__type":"x#ConditionalCheckFailedException"})";
  const std::string cancelled =
      R"({"__type":"x#TransactionCanceledException","CancellationReasons":[{"Code":"ConditionalCheckFailed"},)"
      R"({"Code":"None"}]})";
  const auto written = over(std::make_shared<LyingService>(400, bare)).write(stamp, put);
  ASSERT_TRUE(written.has_error());
  EXPECT_FALSE(FenceError{written.error()}.writeError()->mayBeWritten);
  EXPECT_TRUE(over(std::make_shared<LyingService>(400, cancelled)).transact(stamp, {put}).has_error());
  DynamoDbWrite own = put;
  own.condition = "attribute_not_exists(n)";
  EXPECT_EQ(over(std::make_shared<LyingService>(400, bare)).write(stamp, own).value(),
            DynamoDbWritten::conditionFailed);
}

TEST(DynamoDbAnswers, aRejectionIsBelievedOnlyAsAnError) {
  const std::string stale =
      R"({"__type":"x#ConditionalCheckFailedException","Item":{"tenure_fence:billing":{"M":{"token":{"N":"9"},)"
      R"("holder":{"S":"b"}}}}})";
  EXPECT_NE(FenceError{over(std::make_shared<LyingService>(400, stale)).write(stamp, put).error()}.stale(), nullptr);
  EXPECT_EQ(FenceError{over(std::make_shared<LyingService>(200, stale)).write(stamp, put).error()}.stale(), nullptr);
}

}  // namespace
}  // namespace tenure
