// Time limits, and stores that are destroyed while something is under way.
#include <gtest/gtest.h>

#include <tenure/lockcore/lease_store.hpp>

#include "stores/dynamodb/scripted_client.hpp"

namespace tenure::test {
namespace {

using Purpose = WriteRequest::Purpose;
using Names = std::vector<std::string>;

const std::string emptyPair = R"({"Responses":{"locks":[]},"UnprocessedKeys":{}})";

TEST(DynamoDbTime, eachRequestHasWhatIsLeft) {
  using namespace std::chrono_literals;
  ScriptedStore store;
  store.ok(emptyPair);
  std::optional<WriteOutcome> outcome;
  store.raw().write(request(Purpose::acquire, {}), {5s}, [&](WriteOutcome answer) { outcome = std::move(answer); });
  EXPECT_EQ(store.client().sent.at(0).timeout, 5s);
  store.scheduler().moveClocks({2s, 2s, 2s});
  store.scheduler().runReady();
  EXPECT_EQ(store.client().sent.at(1).timeout, 3s);
  EXPECT_FALSE(outcome) << "the transaction is not answered yet";
  store.close();
  store.scheduler().runReady();
  EXPECT_TRUE(outcome);
}

TEST(DynamoDbTime, nothingIsSentWithoutTime) {
  using namespace std::chrono_literals;
  for (const auto timeout : {0ns, -1ns}) {
    ScriptedStore store;
    EXPECT_TRUE(std::holds_alternative<Rejected>(store.write(request(Purpose::renew, {"one"}), timeout)));
    EXPECT_TRUE(std::holds_alternative<Rejected>(store.write(request(Purpose::acquire, {}), timeout)));
    EXPECT_EQ(store.read({"billing"}, timeout).error().errorClass, ErrorClass::transient);
    EXPECT_TRUE(store.client().sent.empty());
  }
}

TEST(DynamoDbTime, aTransactionForWhichNoTimeIsLeftIsRejectedNotUnknown) {
  using namespace std::chrono_literals;
  ScriptedStore store;
  store.ok(emptyPair);
  std::optional<WriteOutcome> outcome;
  store.raw().write(request(Purpose::acquire, {}), {1s}, [&](WriteOutcome answer) { outcome = std::move(answer); });
  store.scheduler().moveClocks({2s, 2s, 2s});
  store.scheduler().runReady();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(std::holds_alternative<Rejected>(*outcome));
  EXPECT_EQ(store.operations(), Names{"BatchGetItem"});
}

TEST(DynamoDbLifetime, whatIsUnderWayIsAnsweredWhenTheStoreGoes) {
  ScriptedStore store;
  std::vector<std::string> answers;
  ManualScheduler& scheduler = store.scheduler();
  store.raw().write(request(Purpose::renew, {"one"}), {std::chrono::seconds{5}}, [&](const WriteOutcome& outcome) {
    answers.emplace_back(std::holds_alternative<Unknown>(outcome) ? "unknown" : "else");
  });
  store.raw().read({"billing"}, {std::chrono::seconds{5}}, [&](const ReadOutcome& outcome) {
    answers.emplace_back(outcome.has_error() ? toString(outcome.error().errorClass) : "value");
  });
  EXPECT_TRUE(answers.empty());
  store.close();
  scheduler.runReady();
  EXPECT_EQ(answers, (Names{"unknown", "transient"}));
}

TEST(DynamoDbLifetime, aStoreThatWentBetweenTwoRequestsWritesNothing) {
  ScriptedStore store;
  store.ok(emptyPair);
  std::optional<WriteOutcome> outcome;
  ManualScheduler& scheduler = store.scheduler();
  store.raw().write(request(Purpose::acquire, {}), {std::chrono::seconds{5}},
                    [&](WriteOutcome answer) { outcome = std::move(answer); });
  store.close();
  scheduler.runReady();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(std::holds_alternative<Rejected>(*outcome));
}

TEST(DynamoDbRejections, nothingIsSentForWhatCannotBe) {
  ScriptedStore store;
  WriteRequest reserved = request(Purpose::acquire, {});
  reserved.record.attributes = {{"isReleased", "1"}};
  EXPECT_EQ(std::get<Rejected>(store.write(reserved)).error.errorClass, ErrorClass::misconfigured);
  WriteRequest sorted = request(Purpose::acquire, {});
  sorted.key.sortKey = "s";
  EXPECT_EQ(std::get<Rejected>(store.write(sorted)).error.errorClass, ErrorClass::misconfigured);
  EXPECT_EQ(store.read({"billing", "s"}).error().errorClass, ErrorClass::misconfigured);
  EXPECT_TRUE(std::holds_alternative<Rejected>(store.stepDown({"billing#fence"}, FencingToken{1})));
  EXPECT_TRUE(store.list("\xFF").has_error());
  EXPECT_TRUE(store.client().sent.empty());
}

}  // namespace
}  // namespace tenure::test
