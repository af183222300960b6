// ensureSchema(), and the check of the table before the first write.
#include <algorithm>

#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include <tenure/lockcore/lease_store.hpp>

#include "stores/dynamodb/scripted_client.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;
using Purpose = WriteRequest::Purpose;

const std::string noTtl = R"({"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}})";
const std::string emptyPair = R"({"Responses":{"locks":[]},"UnprocessedKeys":{}})";

std::string ttlOn(const std::string& attribute) {
  return R"({"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":")" + attribute + "\"}}";
}

bool logged(const ScriptedStore& store, const std::string& text) {
  return std::any_of(store.log().begin(), store.log().end(),
                     [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

TEST(DynamoDbSchema, aTableThatFitsIsLeftAlone) {
  ScriptedStore store{{.table = "locks"}, false};
  store.ok(tableDescription());
  store.ok(noTtl);
  EXPECT_TRUE(store.ensureSchema().has_value());
  EXPECT_EQ(store.operations(), (Names{"DescribeTable", "DescribeTimeToLive"}));
}

TEST(DynamoDbSchema, candidatesOfOneProcessShareALookAtTheTable) {
  ScriptedStore store{{.table = "locks"}, false};
  store.ok(tableDescription());
  store.ok(noTtl);
  int answered = 0;
  for (int i = 0; i < 3; ++i)
    store.raw().ensureSchema({1min}, [&](const StoreStatus& status) { answered += status ? 1 : 0; });
  EXPECT_TRUE(store.ensureSchema(2min).has_value());
  EXPECT_EQ(answered, 3);
  EXPECT_TRUE(store.ensureSchema().has_value());
  EXPECT_EQ(store.operations(), (Names{"DescribeTable", "DescribeTimeToLive"}));

  store.scheduler().advance(30s);
  store.fails(serviceError("InternalServerError", 500));
  EXPECT_TRUE(store.ensureSchema().has_error()) << "a good look is believed for half a minute only";
  store.ok(tableDescription());
  store.ok(noTtl);
  EXPECT_TRUE(store.ensureSchema().has_value()) << "a bad one is not believed at all";
}

TEST(DynamoDbSchema, whoHasLessTimeThanTheLookUnderWayLooksHimself) {
  ScriptedStore store{{.table = "locks"}, false};
  store.raw().ensureSchema({1min}, [](const StoreStatus&) {});  // gets no answer
  ASSERT_EQ(store.operations(), Names{"DescribeTable"});
  store.ok(tableDescription());
  store.ok(noTtl);
  EXPECT_TRUE(store.ensureSchema(1s).has_value());
  store.close();  // answers the first call, which would otherwise stay open
  store.scheduler().runReady();
}

TEST(DynamoDbSchema, aMissingTableIsMadeAndWaitedFor) {
  ScriptedStore store{{.table = "locks"}, false};
  store.fails(serviceError("ResourceNotFoundException"));
  store.ok("{}");
  store.fails(serviceError("ResourceNotFoundException"));
  store.ok(tableDescription("CREATING"));
  store.fails(serviceError("InternalServerError", 500));
  store.ok(tableDescription());
  EXPECT_TRUE(store.ensureSchema().has_value());
  EXPECT_EQ(store.operations(), (Names{"DescribeTable", "CreateTable", "DescribeTable", "DescribeTable",
                                       "DescribeTable", "DescribeTable"}));
  EXPECT_TRUE(logged(store, "creating it"));
  EXPECT_TRUE(logged(store, "being created"));
  EXPECT_TRUE(logged(store, "ACTIVE"));
}

TEST(DynamoDbSchema, furtherOptionsAreSetByWhoMadeTheTable) {
  DynamoDbStoreOptions options{.table = "locks", .ttlAttribute = "expires"};
  options.tableOptions.pointInTimeRecovery = true;
  ScriptedStore store{options, false};
  store.fails(serviceError("ResourceNotFoundException"));
  store.ok("{}");
  store.ok(tableDescription());
  store.fails(serviceError("ContinuousBackupsUnavailableException"));
  store.ok("{}");
  store.ok("{}");
  EXPECT_TRUE(store.ensureSchema().has_value());
  EXPECT_EQ(store.operations(), (Names{"DescribeTable", "CreateTable", "DescribeTable", "UpdateContinuousBackups",
                                       "UpdateContinuousBackups", "UpdateTimeToLive"}));
  EXPECT_EQ(store.client().sent[3].body,
            R"({"TableName":"locks","PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true}})");
  EXPECT_EQ(store.client().sent[5].body,
            R"({"TableName":"locks","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"expires"}})");
}

TEST(DynamoDbSchema, twoProcessesMayMakeItAtOnce) {
  ScriptedStore store{{.table = "locks"}, false};
  store.fails(serviceError("ResourceNotFoundException"));
  store.fails(serviceError("ResourceInUseException"));
  store.ok(tableDescription("CREATING"));
  store.ok(tableDescription());
  store.ok(noTtl);
  EXPECT_TRUE(store.ensureSchema().has_value());
}

TEST(DynamoDbSchema, aLostAnswerToTheCreationIsNoFailure) {
  ScriptedStore store{{.table = "locks", .ttlAttribute = "expires"}, false};
  store.fails(serviceError("ResourceNotFoundException"));
  store.fails(noAnswer(true));
  store.ok(tableDescription());
  store.fails(serviceError("ValidationException", 400, R"(,"Message":"x")"));
  EXPECT_TRUE(store.ensureSchema().has_error()) << "only \"already enabled\" is as good as a success";
  EXPECT_EQ(store.operations(), (Names{"DescribeTable", "CreateTable", "DescribeTable", "UpdateTimeToLive"}));
}

TEST(DynamoDbSchema, isNotMadeWhereThatIsSwitchedOff) {
  ScriptedStore store{{.table = "locks", .tableOptions = {.create = false}}, false};
  store.fails(serviceError("ResourceNotFoundException"));
  const StoreStatus status = store.ensureSchema();
  ASSERT_TRUE(status.has_error());
  EXPECT_EQ(status.error().errorClass, ErrorClass::misconfigured);
  EXPECT_NE(status.error().message.find("table locks"), std::string::npos);
  EXPECT_EQ(store.operations(), Names{"DescribeTable"});
}

TEST(DynamoDbSchema, waitsNoLongerThanItsTime) {
  ScriptedStore store{{.table = "locks"}, false};
  for (int i = 0; i < 50; ++i) store.ok(tableDescription("CREATING"));
  const Instant start = store.scheduler().now();
  const StoreStatus status = store.ensureSchema(10s);
  ASSERT_TRUE(status.has_error());
  EXPECT_EQ(status.error().errorClass, ErrorClass::transient);
  EXPECT_LE(elapsedForHolder(start, store.scheduler().now()), 10s);
}

TEST(DynamoDbSchema, errorsAreToldAsTheyAre) {
  for (const char* name : {"AccessDeniedException", "LimitExceededException", "ValidationException"}) {
    ScriptedStore describing{{.table = "locks"}, false};
    describing.fails(serviceError(name));
    EXPECT_TRUE(describing.ensureSchema().has_error()) << name;
    ScriptedStore creating{{.table = "locks"}, false};
    creating.fails(serviceError("ResourceNotFoundException"));
    creating.fails(serviceError(name));
    EXPECT_TRUE(creating.ensureSchema().has_error()) << name;
  }
}

TEST(DynamoDbSchema, timeToLiveThatWouldDeleteLeasesIsRefused) {
  for (const char* attribute : {"tenureToken", "tenureStepDown", "tenureAcquiredMillis", "tenureRenewedMillis"}) {
    ScriptedStore store{{.table = "locks"}, false};
    store.ok(tableDescription());
    store.ok(ttlOn(attribute));
    const StoreStatus status = store.ensureSchema();
    ASSERT_TRUE(status.has_error()) << attribute;
    EXPECT_EQ(status.error().errorClass, ErrorClass::misconfigured);
  }
}

TEST(DynamoDbSchema, timeToLiveThatIsNotAsConfiguredIsWarnedOf) {
  ScriptedStore off{{.table = "locks", .ttlAttribute = "expires"}, false};
  off.ok(tableDescription());
  off.ok(noTtl);
  EXPECT_TRUE(off.ensureSchema().has_value());
  EXPECT_TRUE(logged(off, "warn: dynamodb table locks (scripted): the table's time to live is off"));
  ScriptedStore fits{{.table = "locks", .ttlAttribute = "expires"}, false};
  fits.ok(tableDescription());
  fits.ok(ttlOn("expires"));
  EXPECT_TRUE(fits.ensureSchema().has_value());
  EXPECT_FALSE(logged(fits, "warn"));
  ScriptedStore notTold{{.table = "locks"}, false};
  notTold.ok(tableDescription());
  notTold.fails(serviceError("AccessDeniedException"));
  EXPECT_TRUE(notTold.ensureSchema().has_value());
  EXPECT_TRUE(logged(notTold, "dynamodb:DescribeTimeToLive"));
}

/// What the read of an acquisition finds when it checks whether an absent lease was acquired.
const std::string acquired = "{\"Item\":" + lockItem("new", "me", 1) + '}';

TEST(DynamoDbFirstWrite, looksAtTheTableOnce) {
  ScriptedStore store{{.table = "locks"}, false};
  store.ok(tableDescription());
  for (int i = 0; i < 2; ++i) {
    store.ok(emptyPair);
    store.ok("{}");
    store.ok(acquired);
    EXPECT_TRUE(std::holds_alternative<Applied>(store.write(request(Purpose::acquire, {}))));
  }
  EXPECT_EQ(store.operations(), (Names{"DescribeTable", "BatchGetItem", "TransactWriteItems", "GetItem", "BatchGetItem",
                                       "TransactWriteItems", "GetItem"}));
}

TEST(DynamoDbFirstWrite, readsNeedNoLook) {
  ScriptedStore store{{.table = "locks"}, false};
  store.ok("{}");
  store.ok(emptyPair);
  EXPECT_TRUE(store.read({"billing"}).has_value());
  EXPECT_EQ(store.operations(), (Names{"GetItem", "BatchGetItem"}));
}

TEST(DynamoDbFirstWrite, neverWritesToAGlobalTable) {
  ScriptedStore store{{.table = "locks"}, false};
  for (int i = 0; i < 2; ++i) {
    store.ok(tableDescription("ACTIVE", R"(,"Replicas":[{"RegionName":"eu-west-1"}])"));
    const auto refused = std::get<Rejected>(store.write(request(Purpose::acquire, {})));
    EXPECT_EQ(refused.error.errorClass, ErrorClass::misconfigured);
  }
  EXPECT_EQ(store.operations(), (Names{"DescribeTable", "DescribeTable"})) << "and looks again each time";
}

TEST(DynamoDbFirstWrite, aLookThatFailsRejectsTheWriteAndIsRepeated) {
  ScriptedStore store{{.table = "locks"}, false};
  store.fails(noAnswer(true));
  EXPECT_TRUE(std::holds_alternative<Rejected>(store.write(request(Purpose::acquire, {}))));
  store.ok(tableDescription("CREATING"));
  EXPECT_EQ(std::get<Rejected>(store.write(request(Purpose::acquire, {}))).error.errorClass, ErrorClass::transient);
  store.ok(tableDescription());
  store.ok(emptyPair);
  store.ok("{}");
  store.ok(acquired);
  EXPECT_TRUE(std::holds_alternative<Applied>(store.write(request(Purpose::acquire, {}))));
}

TEST(DynamoDbFirstWrite, goesOnWithAWarningWhereDescribingIsNotAllowed) {
  ScriptedStore store{{.table = "locks"}, false};
  store.fails(serviceError("AccessDeniedException"));
  for (int i = 0; i < 2; ++i) {
    store.ok(emptyPair);
    store.ok("{}");
    store.ok(acquired);
    EXPECT_TRUE(std::holds_alternative<Applied>(store.write(request(Purpose::acquire, {}))));
  }
  EXPECT_EQ(std::count_if(store.log().begin(), store.log().end(),
                          [](const std::string& line) { return line.starts_with("warn"); }),
            1);
}

TEST(DynamoDbFirstWrite, manyAtOnceShareOneLook) {
  ScriptedStore store{{.table = "locks"}, false};
  store.ok(tableDescription());
  int answered = 0;
  for (int i = 0; i < 3; ++i) {
    store.raw().write(request(Purpose::renew, {"one"}), {5s}, [&](const WriteOutcome&) { ++answered; });
  }
  store.raw().write(request(Purpose::renew, {"one"}), {1s}, [&](const WriteOutcome&) { ++answered; });
  EXPECT_EQ(store.operations(), (Names{"DescribeTable", "DescribeTable"}))
      << "who has less time does not wait for more";
  store.scheduler().runReady();
  EXPECT_EQ(store.operations(), (Names{"DescribeTable", "DescribeTable", "UpdateItem", "UpdateItem", "UpdateItem"}));
  ManualScheduler& scheduler = store.scheduler();
  store.close();
  scheduler.runReady();
  EXPECT_EQ(answered, 4);
}

TEST(DynamoDbList, goesThroughAllPagesAndSorts) {
  const auto item = [](const std::string& name) {
    return R"({"key":{"S":")" + name +
           R"("},"ownerName":{"S":"a"},"leaseDuration":{"S":"1000"},"recordVersionNumber":{"S":"v"}})";
  };
  ScriptedStore store;
  store.ok(R"({"Items":[)" + item("b") + ',' + item("b#fence") + R"(],"LastEvaluatedKey":{"key":{"S":"b"}}})");
  store.ok(R"({"Items":[],"LastEvaluatedKey":{"key":{"S":"c"}}})");
  boost::json::object foreign = parsed(golden("go_dynamolock_v5"));
  store.ok(R"({"Items":[)" + boost::json::serialize(foreign) + ',' + item("a") + "]}");
  const ListOutcome listed = store.list("");
  ASSERT_TRUE(listed.has_value());
  ASSERT_EQ(listed->size(), 3U);
  EXPECT_EQ((*listed)[0].key.name, "a");
  EXPECT_EQ((*listed)[1].key.name, "b");
  EXPECT_EQ((*listed)[2].key.name, "held");
  EXPECT_EQ((*listed)[2].record.error().errorClass, ErrorClass::corrupt);
  EXPECT_EQ(store.client().sent[2].body,
            R"({"TableName":"locks","ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL",)"
            R"("ExclusiveStartKey":{"key":{"S":"c"}}})");
}

TEST(DynamoDbList, aPageThatFailsFailsTheListing) {
  ScriptedStore store;
  store.ok(R"({"Items":[],"LastEvaluatedKey":{"key":{"S":"b"}}})");
  store.fails(serviceError("ThrottlingException"));
  EXPECT_EQ(store.list("").error().errorClass, ErrorClass::throttled);
  store.ok("{}");
  EXPECT_TRUE(store.list("").has_error()) << "no Items";
}

}  // namespace
}  // namespace tenure::test
