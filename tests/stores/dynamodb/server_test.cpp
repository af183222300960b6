// With a real DynamoDB: creating tables, and what a Java client does to the two items of a lease.
#include <atomic>
#include <cstdlib>
#include <future>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include <tenure/lockcore/lock_tokens.hpp>
#include <tenure/lockcore/stores/dynamodb_store.hpp>

#include "stores/dynamodb/scripted_client.hpp"
#include "stores/dynamodb/socket_client.hpp"

namespace tenure::test {
namespace {

using Purpose = WriteRequest::Purpose;

std::string endpoint() {
  const char* value = std::getenv("TENURE_TEST_DYNAMODB");  // NOLINT(concurrency-mt-unsafe): nobody sets any
  return value == nullptr ? "http://127.0.0.1:8000" : value;
}

class DynamoDbServer : public testing::Test {
 protected:
  DynamoDbServer() {
    std::random_device random;
    options_.table = "store-" + std::to_string(random()) + '-' + std::to_string(random());
  }
  void TearDown() override { call("DeleteTable", ""); }

  [[nodiscard]] std::shared_ptr<LeaseStore> open() const {
    return makeDynamoDbStore(options_, makeSocketClient(endpoint()), {});
  }

  static StoreStatus ensure(LeaseStore& store) {
    auto done = std::make_shared<std::promise<StoreStatus>>();
    store.ensureSchema({std::chrono::seconds{30}}, [done](StoreStatus status) { done->set_value(std::move(status)); });
    return done->get_future().get();
  }

  static WriteOutcome write(LeaseStore& store, WriteRequest request) {
    auto done = std::make_shared<std::promise<WriteOutcome>>();
    store.write(std::move(request), {std::chrono::seconds{30}},
                [done](WriteOutcome outcome) { done->set_value(std::move(outcome)); });
    return done->get_future().get();
  }

  static Applied apply(LeaseStore& store, WriteRequest request) {
    const WriteOutcome outcome = write(store, std::move(request));
    if (const auto* rejected = std::get_if<Rejected>(&outcome)) throw std::runtime_error{rejected->error.message};
    if (const auto* applied = std::get_if<Applied>(&outcome)) return *applied;
    throw std::runtime_error{"a conflict or an unknown outcome"};
  }

  std::string call(const std::string& operation, const std::string& members) {
    return callNow(*hand_, operation, R"({"TableName":")" + options_.table + '"' + members + '}');
  }

  /// Like the Java client when it takes an item over: a PutItem, which erases what Java does not know.
  void putAsJava(const std::string& name, const std::string& rvn) {
    call("PutItem", R"(,"Item":{"key":{"S":")" + name +
                        R"("},"ownerName":{"S":"java"},"leaseDuration":{"S":"20000"},"recordVersionNumber":{"S":")" +
                        rvn + R"("}})");
  }

  DynamoDbStoreOptions options_;
  const std::shared_ptr<aws::JsonClient> hand_ = makeSocketClient(endpoint());
};

TEST_F(DynamoDbServer, oneTableForEightWhoMakeItAtOnce) {
  options_.ttlAttribute = "expires";
  options_.tableOptions = {.readCapacity = 5, .writeCapacity = 5, .tags = {{"team", "a"}}};
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const StoreStatus status = ensure(*open());
      if (status.has_value()) {
        ++good;
      } else {
        ADD_FAILURE() << status.error().message;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 8);
  const std::string table = call("DescribeTable", "");
  EXPECT_NE(table.find(R"("ReadCapacityUnits":5)"), std::string::npos) << table;
  const std::string ttl = call("DescribeTimeToLive", "");
  EXPECT_NE(ttl.find("expires"), std::string::npos) << ttl;
}

TEST_F(DynamoDbServer, lockTokensMakeTheTableThatIsMissing) {
  LockTokens first{open()}, second{open()};
  const auto token = first.acquire({"orders"}, {.waitFor = std::chrono::seconds{30}});
  ASSERT_TRUE(token.has_value()) << token.error().message;
  EXPECT_TRUE(second.isActive(*token).value());
}

TEST_F(DynamoDbServer, lockTokensSayHowATableThatTheyMayNotMakeIsMade) {
  options_.tableOptions.create = false;
  const auto refused = LockTokens{open()}.acquire({"orders"}, {.waitFor = std::chrono::seconds{30}});
  ASSERT_TRUE(refused.has_error());
  ASSERT_TRUE(refused.error().store);
  EXPECT_EQ(refused.error().store->errorClass, ErrorClass::misconfigured);
  EXPECT_NE(refused.error().message.find(options_.table), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("create the table"), std::string::npos) << refused.error().message;
  options_.tableOptions.create = true;
  EXPECT_TRUE(ensure(*open()).has_value()) << "this is the cure";
}

TEST_F(DynamoDbServer, aTableOfAnotherShapeIsRefusedWithWhatDiffers) {
  ASSERT_TRUE(ensure(*open()).has_value());
  DynamoDbStoreOptions other = options_;
  other.partitionKey = "id";
  const auto store = makeDynamoDbStore(other, makeSocketClient(endpoint()), {});
  const StoreStatus status = ensure(*store);
  ASSERT_TRUE(status.has_error());
  EXPECT_NE(status.error().message.find(R"(its partition key is "key" (S), configured is "id" (S))"), std::string::npos)
      << status.error().message;
  EXPECT_TRUE(std::holds_alternative<Rejected>(write(*store, request(Purpose::acquire, {}))));
}

TEST_F(DynamoDbServer, keyNamesThatAreReservedWords) {
  options_.partitionKey = "name";
  options_.sortKey = "order";
  options_.ttlAttribute = "ttl";
  const auto store = open();
  ASSERT_TRUE(ensure(*store).has_value());
  EXPECT_EQ(apply(*store, request(Purpose::acquire, {}, "one")).token, FencingToken{1});
  EXPECT_EQ(apply(*store, request(Purpose::renew, {"one"}, "two")).token, FencingToken{1});
  EXPECT_EQ(apply(*store, request(Purpose::release, {"two"}, "three")).token, FencingToken{1});
  EXPECT_EQ(apply(*store, request(Purpose::acquire, {"three"}, "four")).token, FencingToken{2});
}

TEST_F(DynamoDbServer, tokensRiseThroughAllThatJavaDoes) {
  const auto store = open();
  ASSERT_TRUE(ensure(*store).has_value());
  FencingToken last = apply(*store, request(Purpose::acquire, {}, "a")).token;
  const auto openTerm = [&] {
    return vanishedVersion(last, request(Purpose::acquire, {}, "-").record.leaseDuration).text();
  };
  const auto rises = [&](std::vector<std::string> expected, const std::string& rvn) {
    const Applied applied = apply(*store, request(Purpose::acquire, std::move(expected), rvn));
    EXPECT_GT(applied.token, last) << rvn;
    last = applied.token;
    return applied.warning;
  };
  putAsJava("billing", "j1");
  EXPECT_EQ(rises({"j1"}, "b"), "") << "a takeover by Java is no loss";
  call("DeleteItem", R"(,"Key":{"key":{"S":"billing"}})");
  EXPECT_EQ(rises({openTerm()}, "c"), "") << "neither is its release";
  putAsJava("billing#fence", "j2");
  EXPECT_NE(rises({"c"}, "d"), "") << "Java took the counter's item as a lock";
  EXPECT_NE(call("GetItem", R"(,"Key":{"key":{"S":"billing#fence"}})").find("java"), std::string::npos)
      << "and keeps that lock";
  call("DeleteItem", R"(,"Key":{"key":{"S":"billing#fence"}})");
  EXPECT_NE(rises({"d"}, "e"), "");
  putAsJava("billing", "j3");
  putAsJava("billing#fence", "j4");
  EXPECT_NE(rises({"j3"}, "f"), "") << "both are erased";
  EXPECT_GT(last.value(), 1'700'000'000U) << "the wall clock's seconds are the floor then";
  putAsJava("billing", "j5");
  call("DeleteItem", R"(,"Key":{"key":{"S":"billing#fence"}})");
  WriteRequest floored = request(Purpose::acquire, {"j5"}, "g");
  floored.tokenFloor = last;
  EXPECT_GT(apply(*store, std::move(floored)).token, last);
}

TEST_F(DynamoDbServer, unknownAttributesSurviveHeartbeatsAndTakeovers) {
  const auto store = open();
  ASSERT_TRUE(ensure(*store).has_value());
  apply(*store, request(Purpose::acquire, {}, "0"));
  call("UpdateItem", R"(,"Key":{"key":{"S":"billing"}},"UpdateExpression":"SET #n=:n, #l=:l",)"
                     R"("ExpressionAttributeNames":{"#n":"count","#l":"list"},)"
                     R"("ExpressionAttributeValues":{":n":{"N":"7"},":l":{"L":[{"BOOL":true}]}})");
  for (int i = 0; i < 10; ++i) {
    apply(*store, request(Purpose::renew, {std::to_string(i)}, std::to_string(i + 1)));
  }
  apply(*store, request(Purpose::acquire, {"10"}, "11"));
  const std::string item = call("GetItem", R"(,"Key":{"key":{"S":"billing"}})");
  EXPECT_NE(item.find(R"("count":{"N":"7"})"), std::string::npos) << item;
  EXPECT_NE(item.find(R"("list":)"), std::string::npos) << item;
}

TEST_F(DynamoDbServer, releaseByDeletionKeepsTheCounter) {
  options_.deleteOnRelease = true;
  const auto store = open();
  ASSERT_TRUE(ensure(*store).has_value());
  EXPECT_EQ(apply(*store, request(Purpose::acquire, {}, "one")).token, FencingToken{1});
  EXPECT_EQ(apply(*store, request(Purpose::release, {"one"}, "two")).token, FencingToken{1});
  EXPECT_EQ(call("GetItem", R"(,"Key":{"key":{"S":"billing"}})").find("billing"), std::string::npos);
  EXPECT_EQ(apply(*store, request(Purpose::acquire, {}, "three")).token, FencingToken{2});
}

}  // namespace
}  // namespace tenure::test
