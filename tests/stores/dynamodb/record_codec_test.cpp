// Items of all known writers: ours and Java's are understood, the others are reported by name.
#include "lockcore/stores/dynamodb/src/record_codec.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "stores/dynamodb/scripted_client.hpp"

namespace tenure::dynamodb_store {
namespace {

using test::golden;
using test::lockItem;
using test::parsed;

const std::string where = "dynamodb table locks (scripted)";
const LeaseKey billing{"billing"};

StoreResult<StoredRecord> decode(const std::string& item, const DynamoDbStoreOptions& options = {.table = "locks"}) {
  return recordFrom(Layout{options}, where, billing, parsed(item));
}

TEST(DynamoDbRecords, oursWhole) {
  const auto stored = decode(lockItem(
      "v1", "me", 7,
      R"(,"isReleased":{"S":"1"},"data":{"B":"AP8="},"tenureBeacon":{"S":"18446744073709551615 2 boot id with space"},)"
      R"("zone":{"S":"a"},"empty":{"S":""},"number":{"N":"1"})"));
  ASSERT_TRUE(stored.has_value()) << stored.error().message;
  LeaseRecord expected;
  expected.holder = "me";
  expected.version = RecordVersion{"v1"};
  expected.leaseDuration = std::chrono::seconds{10};
  expected.token = FencingToken{7};
  expected.released = true;
  expected.livenessFile = LivenessFile{"id with space", "boot", 18446744073709551615U, 2};
  expected.data = std::string{"\0\xFF", 2};
  expected.attributes = {{"zone", "a"}, {"empty", ""}};
  expected.acquiredAtMillis = 1;
  expected.renewedAtMillis = 2;
  EXPECT_EQ(stored->record, expected);
}

TEST(DynamoDbRecords, javasAreValid) {
  for (const char* name :
       {"aws_java_1_4", "aws_java_1_4_held_full", "aws_java_1_4_released", "aws_java_1_4_released_full"}) {
    SCOPED_TRACE(name);
    const auto stored = decode(golden(name));
    ASSERT_TRUE(stored.has_value()) << stored.error().message;
    const LeaseRecord& record = stored->record;
    EXPECT_EQ(record.leaseDuration, std::chrono::seconds{20});
    EXPECT_EQ(record.released, std::string{name}.find("released") != std::string::npos);
    EXPECT_FALSE(record.holder.empty());
    EXPECT_EQ(record.version.text().size(), 36U);
    EXPECT_TRUE(record.token.isNone());
    const bool full = std::string{name}.ends_with("full");
    EXPECT_EQ(record.data, full ? std::string("payload\0\xC3\xA9", 10) : std::string{});
    EXPECT_EQ(record.attributes.size(), full ? 1U : 0U) << "strings only: the number and the list stay where they are";
  }
  const auto sorted = decode(golden("aws_java_1_4_sorted_held_full"), {.table = "locks", .sortKey = "rangeKey"});
  ASSERT_TRUE(sorted.has_value()) << sorted.error().message;
  EXPECT_FALSE(sorted->record.attributes.contains("rangeKey"));
}

struct ForeignRow {
  const char* file;
  const char* writer;
};

class DynamoDbForeignRows : public testing::TestWithParam<ForeignRow> {};

TEST_P(DynamoDbForeignRows, areRefusedByName) {
  const auto stored = decode(golden(GetParam().file));
  ASSERT_TRUE(stored.has_error()) << "taken as " << stored->record.holder;
  EXPECT_EQ(stored.error().errorClass, ErrorClass::corrupt);
  const std::string& message = stored.error().message;
  EXPECT_NE(message.find(GetParam().writer), std::string::npos) << message;
  EXPECT_EQ(message.find(where + ": lease billing: "), 0U) << message;
}

INSTANTIATE_TEST_SUITE_P(Golden, DynamoDbForeignRows,
                         testing::Values(ForeignRow{"go_dynamolock_v5", "Go's dynamolock"},
                                         ForeignRow{"go_dynamolock_v5_held_full", "Go's dynamolock"},
                                         ForeignRow{"go_dynamolock_v5_released", "Go's dynamolock"},
                                         ForeignRow{"go_dynamolock_v5_released_full", "Go's dynamolock"},
                                         ForeignRow{"python_dynamodb_lock_0_9_1", "python_dynamodb_lock"},
                                         ForeignRow{"python_dynamodb_lock_0_9_1_held_full", "python_dynamodb_lock"},
                                         ForeignRow{"python_dynamodb_lock_0_9_1_key", "python_dynamodb_lock"},
                                         ForeignRow{"python_dynamodb_lock_0_9_1_key_held_full", "python_dynamodb_lock"},
                                         ForeignRow{"dyndbmutex_0_4_0", "dyndbmutex"},
                                         ForeignRow{"dyndbmutex_0_4_0_released", "dyndbmutex"},
                                         ForeignRow{"from_source/rust_delta", "dynamodb_lock (Rust"},
                                         ForeignRow{"from_source/rust_delta_data", "dynamodb_lock (Rust"},
                                         ForeignRow{"from_source/shedlock", "ShedLock"},
                                         ForeignRow{"from_source/aws_distributed_mutex", "Aws.DistributedMutex"},
                                         ForeignRow{"from_source/dotnet_dynamolock", "DynamoLock (.NET)"},
                                         ForeignRow{"from_source/tristanls_node", "tristanls"}),
                         [](const auto& row) {
                           std::string name = row.param.file;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

TEST(DynamoDbRecords, damageIsToldByAttribute) {
  struct Case {
    const char* attribute;
    const char* value;
  };
  for (const Case& bad :
       {Case{"ownerName", R"({"N":"1"})"}, Case{"ownerName", R"({"S":""})"}, Case{"recordVersionNumber", R"({"S":""})"},
        Case{"leaseDuration", R"({"N":"10000"})"}, Case{"leaseDuration", R"({"S":"0"})"},
        Case{"leaseDuration", R"({"S":"-5"})"}, Case{"leaseDuration", R"({"S":"604800001"})"},
        Case{"leaseDuration", R"({"S":"1e4"})"}, Case{"leaseDuration", R"({"S":" 1000"})"},
        Case{"leaseDuration", R"({"S":"99999999999999"})"}, Case{"isReleased", R"({"S":"0"})"},
        Case{"isReleased", R"({"BOOL":true})"}, Case{"data", R"({"S":"text"})"}, Case{"data", R"({"B":"!"})"},
        Case{"tenureToken", R"({"N":"-1"})"}, Case{"tenureToken", R"({"S":"7"})"},
        Case{"tenureToken", R"({"N":"9007199254740992"})"}, Case{"tenureToken", R"({"N":"1.5"})"},
        Case{"tenureStepDown", R"({"S":"7"})"}}) {
    SCOPED_TRACE(std::string{bad.attribute} + bad.value);
    boost::json::object item = parsed(lockItem("v1"));
    item[bad.attribute] = parsed(bad.value);
    const auto stored = recordFrom(Layout{{.table = "locks"}}, where, billing, item);
    ASSERT_TRUE(stored.has_error());
    EXPECT_EQ(stored.error().errorClass, ErrorClass::corrupt);
    EXPECT_NE(stored.error().message.find(std::string{"attribute "} + bad.attribute), std::string::npos)
        << stored.error().message;
  }
}

// A version alone, or a mark alone, is no lock of the Java client.
TEST(DynamoDbRecords, aWriterIsNamedOnlyIfAllThatItWritesIsThere) {
  const Layout layout{{.table = "locks"}};
  const std::string neither = "Neither tenure nor the AWS Java lock client writes such an item";
  for (const char* item :
       {R"({"recordVersionNumber":{"S":"1"}})", R"({"isReleased":{"S":"1"}})", R"({"lockUntil":{"N":"1"}})",
        R"({"lockedAt":{"N":"1"}})", R"({"expire_ts":{"N":"1"}})", R"({"holder":{"S":"a"}})",
        R"({"leaseExpiry":{"N":"1"}})", R"({"holderId":{"S":"a"}})", R"({"lock_owner":{"S":"a"}})",
        R"({"expires":{"N":"1"}})", R"({"leaseDurationMs":{"N":"1"}})", R"({"guid":{"B":""}})",
        R"({"record_version_number":{"S":"1"}})", R"({"lease_duration":{"N":"1"}})"}) {
    EXPECT_TRUE(likelyWriterOf(layout, parsed(item)).starts_with(neither)) << item;
  }
  EXPECT_EQ(likelyWriterOf(layout, parsed(R"({"recordVersionNumber":{"S":"1"},"isReleased":{"S":"1"}})")),
            "It looks like a lock of the AWS Java lock client that was edited by hand.");
}

TEST(DynamoDbRecords, aMissingAttributeIsDamageToo) {
  for (const char* name : {"ownerName", "leaseDuration", "recordVersionNumber"}) {
    boost::json::object item = parsed(lockItem("v1"));
    item.erase(name);
    EXPECT_TRUE(recordFrom(Layout{{.table = "locks"}}, where, billing, item).has_error()) << name;
  }
  EXPECT_TRUE(decode("{}").has_error());
}

TEST(DynamoDbRecords, whatDecidesNothingMayBeBroken) {
  boost::json::object item = parsed(lockItem("v1"));
  item["tenureAcquiredMillis"] = parsed(R"({"S":"yesterday"})");
  item["tenureBeacon"] = parsed(R"({"S":"1 2"})");
  const auto stored = recordFrom(Layout{{.table = "locks"}}, where, billing, item);
  ASSERT_TRUE(stored.has_value()) << stored.error().message;
  EXPECT_EQ(stored->record.acquiredAtMillis, 0);
  EXPECT_FALSE(stored->record.livenessFile);
}

TEST(DynamoDbRecords, aShortLeaseIsBelievedFromUsOnly) {
  boost::json::object item = parsed(lockItem("v1"));
  item["leaseDuration"] = parsed(R"({"S":"500"})");
  EXPECT_TRUE(recordFrom(Layout{{.table = "locks"}}, where, billing, item).has_value());
  item.erase("tenureToken");
  const auto foreign = recordFrom(Layout{{.table = "locks"}}, where, billing, item);
  ASSERT_TRUE(foreign.has_error());
  EXPECT_NE(foreign.error().message.find("seconds"), std::string::npos) << foreign.error().message;
}

TEST(DynamoDbRecords, theCounterItem) {
  const Layout layout{{.table = "locks"}};
  const auto counter = companionFrom(layout, where, billing, parsed(R"({"tenureToken":{"N":"41"}})"));
  ASSERT_TRUE(counter.has_value());
  EXPECT_TRUE(counter->present);
  EXPECT_EQ(counter->counter, FencingToken{41});
  EXPECT_TRUE(companionFrom(layout, where, billing, parsed(golden("aws_java_1_4")))->counter.isNone());
  const auto bad = companionFrom(layout, where, billing, parsed(R"({"tenureToken":{"N":"1e3"}})"));
  ASSERT_TRUE(bad.has_error());
  EXPECT_NE(bad.error().message.find("billing#fence"), std::string::npos) << bad.error().message;
}

}  // namespace
}  // namespace tenure::dynamodb_store
