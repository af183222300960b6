// Small pure parts: JSON text, layout, token plan, table form, options.
#include <stdexcept>

#include <gtest/gtest.h>

#include "lockcore/port/store_checks.hpp"
#include "lockcore/stores/dynamodb/src/json_text.hpp"
#include "lockcore/stores/dynamodb/src/options_check.hpp"
#include "lockcore/stores/dynamodb/src/replies.hpp"
#include "lockcore/stores/dynamodb/src/table_shape.hpp"
#include "stores/dynamodb/scripted_client.hpp"

namespace tenure::dynamodb_store {
namespace {

using test::parsed;
using test::tableDescription;

const std::string where = "dynamodb table locks (scripted)";
const DynamoDbStoreOptions plainOptions{.table = "locks"};
const Layout plain{plainOptions};
const Layout sorted{DynamoDbStoreOptions{.table = "locks", .sortKey = "range"}};

TEST(DynamoDbJsonText, base64BothWays) {
  struct Pair {
    std::string bytes;
    const char* text;
  };
  for (const Pair& one : {Pair{"", ""}, Pair{"f", "Zg=="}, Pair{"fo", "Zm8="}, Pair{"foo", "Zm9v"},
                          Pair{"foobar", "Zm9vYmFy"}, Pair{std::string{"\0\xFF\xFE", 3}, "AP/+"}}) {
    std::string text;
    appendBase64(text, one.bytes);
    EXPECT_EQ(text, one.text);
    EXPECT_EQ(bytesFromBase64(one.text), one.bytes);
  }
  for (const char* bad : {"Z", "Zg", "Zg=", "Zg=a", "====", "Zm9v!A==", "Zm 9", "Zh==", "Zm9="}) {
    EXPECT_EQ(bytesFromBase64(bad), std::nullopt) << bad;
  }
}

TEST(DynamoDbJsonText, quotesWhatJsonMustNotHave) {
  EXPECT_EQ(inQuotes(std::string{"a\"b\\c\x01\n\x7F", 8}), "\"a\\\"b\\\\c\\u0001\\u000a\x7F\"");
  EXPECT_EQ(inQuotes("значение 😀"), "\"значение 😀\"");
}

TEST(DynamoDbLayout, longNamesHaveCompanionsOfTheirOwn) {
  const auto companion = [](const std::string& name) { return plain.companionOf({name}).partition; };
  EXPECT_EQ(companion("billing"), "billing#fence");
  const std::string fits(2'041, 'n');
  EXPECT_EQ(companion(fits), fits + "#fence");
  for (const std::size_t size : {2'042U, 2'047U, 2'048U}) {
    const std::string name(size, 'n');
    EXPECT_EQ(companion(name).size(), maxLeaseNameBytes);
    EXPECT_TRUE(Layout::isCompanion(companion(name)));
    EXPECT_NE(companion(name), companion(name.substr(0, size - 1) + 'm'));
  }
  std::string wide;
  while (wide.size() < 2'048) wide += "\xF0\x9F\x98\x80";
  EXPECT_EQ(companion(wide).size(), maxLeaseNameBytes);
  EXPECT_TRUE(isUtf8(companion(wide)));
}

TEST(DynamoDbLayout, twoLeasesNeverShareOneItem) {
  EXPECT_EQ(plain.errorOf(LeaseKey{"a"}), std::nullopt);
  const auto noSortKey = plain.errorOf(LeaseKey{"a", "s"});
  ASSERT_TRUE(noSortKey);
  EXPECT_EQ(noSortKey->errorClass, ErrorClass::misconfigured);
  EXPECT_EQ(sorted.errorOf(LeaseKey{"a", "s"}), std::nullopt);
  EXPECT_TRUE(sorted.errorOf(LeaseKey{"a", "-"})) << "that is how a lease without sort key is kept";
  EXPECT_EQ(sorted.leaseKeyOf(sorted.keyOf({"a"})), LeaseKey{"a"});
  EXPECT_EQ(sorted.leaseKeyOf(sorted.keyOf({"a", "s"})), (LeaseKey{"a", "s"}));
}

TEST(DynamoDbLayout, noUserAttributeCanTouchTheLock) {
  const Layout layout{DynamoDbStoreOptions{.table = "locks", .sortKey = "range", .ttlAttribute = "expires"}};
  for (const char* name :
       {"key", "range", "ownerName", "leaseDuration", "recordVersionNumber", "isReleased", "data", "tenureToken",
        "tenureStepDown", "tenureBeacon", "tenureSuccessor", "tenureOpenLease", "tenureFuture", "expires"}) {
    WriteRequest write = test::request(WriteRequest::Purpose::acquire, {});
    write.record.attributes = {{name, "1"}};
    const auto refused = layout.errorOf(write);
    ASSERT_TRUE(refused) << name;
    EXPECT_EQ(refused->errorClass, ErrorClass::misconfigured);
    EXPECT_NE(refused->message.find(name), std::string::npos) << refused->message;
  }
  for (const char* name : {"tenure", "tenured", "isreleased", "Key"}) EXPECT_FALSE(layout.isReserved(name)) << name;
}

StoredRecord storedWith(int token) {
  StoredRecord stored;
  stored.record.token = FencingToken{static_cast<std::uint64_t>(token)};
  return stored;
}

// Only then do tokens go on from the wall clock.
TEST(DynamoDbPair, isTracelessIfSomebodyHasUsedTheLeaseAndNoTokenIsLeft) {
  EXPECT_FALSE((Pair{{}, {}}.isTraceless())) << "a new lease";
  EXPECT_TRUE((Pair{storedWith(0), {}}.isTraceless()));
  EXPECT_TRUE((Pair{storedWith(0), {true, {}}}.isTraceless()));
  EXPECT_TRUE((Pair{{}, {true, {}}}.isTraceless()));
  EXPECT_FALSE((Pair{storedWith(41), {true, {}}}.isTraceless())) << "the item has its copy";
  EXPECT_FALSE((Pair{storedWith(0), {true, FencingToken{41}}}.isTraceless())) << "Java took over";
}

TEST(DynamoDbTable, createRequests) {
  EXPECT_EQ(createTableRequest(plain, {}),
            R"({"TableName":"locks","KeySchema":[{"AttributeName":"key","KeyType":"HASH"}],)"
            R"("AttributeDefinitions":[{"AttributeName":"key","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"})");
  EXPECT_EQ(
      createTableRequest(sorted, {.readCapacity = 5, .writeCapacity = 2, .tags = {{"team", "a \"b\""}, {"x", ""}}}),
      R"({"TableName":"locks","KeySchema":[{"AttributeName":"key","KeyType":"HASH"},)"
      R"({"AttributeName":"range","KeyType":"RANGE"}],"AttributeDefinitions":[{"AttributeName":"key",)"
      R"("AttributeType":"S"},{"AttributeName":"range","AttributeType":"S"}],"BillingMode":"PROVISIONED",)"
      R"("ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":2},)"
      R"("Tags":[{"Key":"team","Value":"a \"b\""},{"Key":"x","Value":""}]})");
}

TEST(DynamoDbTable, statesAndShapes) {
  const auto state = [](const Layout& layout, const std::string& body) {
    return tableStateIn(layout, where, parsed(body));
  };
  EXPECT_EQ(state(plain, tableDescription()).value(), TableState::ready);
  EXPECT_EQ(state(plain, tableDescription("UPDATING")).value(), TableState::ready);
  EXPECT_EQ(state(plain, tableDescription("CREATING")).value(), TableState::creating);
  EXPECT_EQ(state(plain, tableDescription("DELETING")).error().errorClass, ErrorClass::transient);
  EXPECT_EQ(state(plain, tableDescription("ARCHIVED")).error().errorClass, ErrorClass::misconfigured);
  EXPECT_TRUE(state(plain, "{}").has_error());
  const auto otherShape =
      state(Layout{DynamoDbStoreOptions{.table = "locks", .partitionKey = "id", .sortKey = "s"}}, tableDescription());
  ASSERT_TRUE(otherShape.has_error());
  EXPECT_EQ(otherShape.error().errorClass, ErrorClass::misconfigured);
  EXPECT_NE(otherShape.error().message.find(R"(its partition key is "key" (S), configured is "id" (S); )"
                                            R"(its sort key is none, configured is "s" (S))"),
            std::string::npos)
      << otherShape.error().message;
}

TEST(DynamoDbTable, globalTablesAreRefused) {
  for (const char* more : {R"(,"Replicas":[{"RegionName":"eu-west-1"}])",
                           R"(,"Replicas":[{"RegionName":"eu-west-1"}],"MultiRegionConsistency":"EVENTUAL")",
                           R"(,"GlobalTableVersion":"2017.11.29")"}) {
    const auto refused = tableStateIn(plain, where, parsed(tableDescription("ACTIVE", more)));
    ASSERT_TRUE(refused.has_error()) << more;
    EXPECT_EQ(refused.error().errorClass, ErrorClass::misconfigured);
    EXPECT_NE(refused.error().message.find("eventually consistent"), std::string::npos) << refused.error().message;
  }
  const auto strong = tableStateIn(
      plain, where,
      parsed(tableDescription("ACTIVE", R"(,"Replicas":[{"RegionName":"a"}],"MultiRegionConsistency":"STRONG")")));
  ASSERT_TRUE(strong.has_error());
  EXPECT_NE(strong.error().message.find("no transactions"), std::string::npos) << strong.error().message;
  EXPECT_TRUE(tableStateIn(plain, where, parsed(tableDescription("ACTIVE", R"(,"Replicas":[])"))).has_value());
}

TEST(DynamoDbOptions, faultsAreToldTogetherAndByName) {
  DynamoDbStoreOptions bad{.table = "a b", .partitionKey = "", .sortKey = "data", .sortKeyValue = ""};
  bad.ttlAttribute = "isReleased";
  bad.ttl = std::chrono::hours{1};
  bad.region = "EU West";
  bad.endpoint = "localhost:8000";
  bad.tableOptions = {.readCapacity = 0, .tags = {{"aws:x", "1"}}};
  try {
    checkOptions(bad);
    FAIL() << "taken";
  } catch (const std::invalid_argument& fault) {
    const std::string text = fault.what();
    for (const char* name :
         {"table is", "partitionKey", "sortKey is \"data\"", "sortKeyValue", "ttlAttribute", "ttl is",
          "tableOptions.writeCapacity is missing", "it must be 1 to 40000", "aws:x",
          "region is not the name of a region", "endpoint \"localhost:8000\" does not begin with https://"}) {
      EXPECT_NE(text.find(name), std::string::npos) << name << " in: " << text;
    }
  }
}

TEST(DynamoDbOptions, whatCanBeIsTaken) {
  EXPECT_NO_THROW(checkOptions(plainOptions));
  EXPECT_NO_THROW(checkOptions({.table = std::string(255, 'a'), .partitionKey = "LockKey#1", .sortKey = "order"}));
  EXPECT_NO_THROW(checkOptions({.table = "locks", .region = "local", .endpoint = "http://localhost:8000"}));
  EXPECT_THROW(checkOptions({.table = "ab"}), std::invalid_argument);
  EXPECT_THROW(checkOptions({.table = "locks", .sortKey = "key"}), std::invalid_argument);
  EXPECT_THROW(checkOptions({.table = "locks", .partitionKey = "tenureOpenLease"}), std::invalid_argument);
  EXPECT_THROW(checkOptions({.table = "locks", .ttlAttribute = "key"}), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(makeDynamoDbStore(plainOptions, nullptr, {})), std::invalid_argument);
}

}  // namespace
}  // namespace tenure::dynamodb_store
