// The leases of one name by a query, and the price of listing a table without a sort key.
#include <gtest/gtest.h>

#include <tenure/lockcore/lease_store.hpp>

#include "lockcore/stores/dynamodb/src/scan_price.hpp"
#include "stores/dynamodb/scripted_client.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using dynamodb_store::scanPriceText;

DynamoDbStoreOptions sorted() { return {.table = "locks", .sortKey = "range"}; }

std::string item(const std::string& name, const std::string& sort) {
  return R"({"key":{"S":")" + name + R"("},"range":{"S":")" + sort +
         R"("},"ownerName":{"S":"a"},"leaseDuration":{"S":"1000"},"recordVersionNumber":{"S":"v"}})";
}

TEST(DynamoDbListName, queriesOnePartitionPageByPage) {
  ScriptedStore store{sorted(), false};
  ASSERT_TRUE(store.raw().keepsGroupsTogether());
  store.ok(R"({"Items":[)" + item("g", "-") + ',' + item("g", "9") +
           R"(],"LastEvaluatedKey":{"key":{"S":"g"},"range":{"S":"9"}}})");
  store.ok(R"({"Items":[)" + item("g", "member/0") + "]}");
  const ListOutcome listed = store.listName("g");
  ASSERT_TRUE(listed.has_value());
  ASSERT_EQ(listed->size(), 3U);
  EXPECT_EQ((*listed)[0].key, (LeaseKey{"g"}));
  EXPECT_EQ((*listed)[1].key, (LeaseKey{"g", "9"}));
  EXPECT_EQ((*listed)[2].key, (LeaseKey{"g", "member/0"}));
  EXPECT_EQ(store.operations(), (std::vector<std::string>{"Query", "Query"}));
  EXPECT_NE(store.client().sent[1].body.find(R"("ExclusiveStartKey":{"key":{"S":"g"},"range":{"S":"9"}})"),
            std::string::npos);
}

TEST(DynamoDbListName, I11_anAnswerThatIsNotTheQuerysIsAnError) {
  for (const std::string& answer :
       {std::string{"{}"}, std::string{"[]"}, std::string{R"({"Items":{}})"}, R"({"Items":[)" + item("h", "9") + "]}",
        std::string{R"({"Items":[{"key":{"S":"g"}}]})"}, std::string{R"({"Items":[],"__type":"x#Throttling"})"}}) {
    ScriptedStore store{sorted(), false};
    store.ok(answer);
    EXPECT_TRUE(store.listName("g").has_error()) << answer;
  }
  ScriptedStore store{sorted(), false};
  store.ok(R"({"Items":[],"LastEvaluatedKey":{"key":{"S":"g"},"range":{"S":"9"}}})");
  store.fails(serviceError("ThrottlingException"));
  EXPECT_EQ(store.listName("g").error().errorClass, ErrorClass::throttled) << "half a listing is none";
}

TEST(DynamoDbListName, aBadNameIsRefusedWithoutARequest) {
  ScriptedStore store{sorted(), false};
  for (const char* name : {"", "g#fence", "\xFF"}) {
    EXPECT_EQ(store.listName(name).error().errorClass, ErrorClass::misconfigured) << name;
  }
  EXPECT_TRUE(store.operations().empty());
}

TEST(DynamoDbListName, aNameThatStandsForLeasesWithoutASortKeyIsAFaultOfTheKey) {
  ScriptedStore store{sorted(), false};
  EXPECT_EQ(store.raw().faultsOfPayload({"g", "0"}, {}, {}).size(), 0U);
  const OptionFaults faults = store.raw().faultsOfPayload({"g", "-"}, {}, {});
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_NE(faults.front().message.find("means that there is none"), std::string::npos);
}

/// `units` empty: the service does not tell.
std::vector<std::string> warningsAfter(ScriptedStore& store, int listings, std::chrono::nanoseconds every,
                                       const std::string& units, const std::string& prefix = "g/") {
  for (int i = 0; i < listings; ++i) {
    const std::string cost =
        units.empty() ? "" : R"(,"ConsumedCapacity":{"TableName":"locks","CapacityUnits":)" + units + "}";
    store.ok(R"({"Items":[])" + cost + ",\"LastEvaluatedKey\":{\"key\":{\"S\":\"x\"}}}");
    store.ok(R"({"Items":[])" + cost + "}");
    EXPECT_TRUE(store.list(prefix).has_value());
    store.scheduler().advance(every);
  }
  std::vector<std::string> out;
  for (const std::string& line : store.log()) {
    if (line.find("the whole table is read") != std::string::npos) out.push_back(line);
  }
  return out;
}

TEST(DynamoDbScanPrice, isToldOnceWhenAGroupIsListedAgainAndAgain) {
  ScriptedStore store;
  EXPECT_FALSE(store.raw().keepsGroupsTogether());
  EXPECT_EQ(warningsAfter(store, 10, 500ms, "25").size(), 0U);
  const std::vector<std::string> warnings = warningsAfter(store, 30, 500ms, "25");
  ASSERT_EQ(warnings.size(), 1U);
  for (const char* part : {"\"g/...\"", "0.5 s", "50.0 read units", "259,", "32.4", "store.sort_key"}) {
    EXPECT_NE(warnings.front().find(part), std::string::npos) << part << " in " << warnings.front();
  }
}

TEST(DynamoDbScanPrice, isNotLoggedForSortKeysRareListingsOrThePlainTable) {
  ScriptedStore with{sorted(), false};
  EXPECT_EQ(warningsAfter(with, 30, 500ms, "25").size(), 0U);
  ScriptedStore rare;
  EXPECT_EQ(warningsAfter(rare, 30, 2min, "25").size(), 0U);
  ScriptedStore all;
  EXPECT_EQ(warningsAfter(all, 30, 500ms, "25", "").size(), 0U);
}

TEST(DynamoDbScanPrice, isAFormulaInWordsWhereTheServiceDoesNotTell) {
  ScriptedStore store;
  const std::vector<std::string> warnings = warningsAfter(store, 30, 500ms, "");
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings.front().find("a read unit for each 4 KB of the table"), std::string::npos) << warnings.front();
}

TEST(DynamoDbScanPrice, namesUnitsAndDollarsOfAMonth) {
  EXPECT_EQ(
      scanPriceText("g/", 500ms, 12.5),
      "the leases \"g/...\" are listed about every 0.5 s, and each time the whole table is read (Scan), because it "
      "has no sort key. This takes 12.5 read units each time, 64,800,000 in 30 days: about 8.10 $ for each candidate "
      "(on demand, us-east-1). In a table with a sort key (store.sort_key) only the group is read; see "
      "docs/sharding.md, What it costs on DynamoDB");
  EXPECT_NE(scanPriceText("g/", 500ms, {}).find("4 KB of the table 5,184,000 times in 30 days; each million"),
            std::string::npos);
}

}  // namespace
}  // namespace tenure::test
