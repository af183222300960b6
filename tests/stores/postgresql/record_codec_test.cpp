// Rows as values: what the store writes is understood, and everything else is named.
#include "lockcore/stores/postgresql/src/record_codec.hpp"

#include <gtest/gtest.h>

#include "lockcore/stores/postgresql/src/statements.hpp"

namespace tenure::postgresql_store {
namespace {

const Place place{"postgresql jobs at db1", "\"public\".\"tenure_lease\""};

Row goodRow() {
  Row row(leaseColumnCount);
  row[nameColumn] = "billing";
  row[sortColumn] = "eu";
  row[versionColumn] = "v";
  row[holderColumn] = "a#1";
  row[tokenColumn] = "7";
  row[leaseColumn] = "10000";
  row[releasedColumn] = "f";
  row[resignColumn] = "0";
  row[livenessColumn] = R"({"id": "0a", "inode": "5", "device": "18446744073709551615", "boot_id": "b"})";
  row[dataColumn] = "00ff";
  row[attributesColumn] = R"({"zone": "eu"})";
  row[acquiredAtColumn] = "0.005000";
  row[renewedAtColumn] = "0.006000";
  row[historyColumn] = "1/1";
  row[counterColumn] = "7";
  row[counterLeaseColumn] = "10000";
  row[counterHistoryColumn] = "1/1";
  row[layoutColumn] = "1";
  row[presentHistoryColumn] = "1/1";
  return row;
}

Row removedRow() {
  Row row = goodRow();
  for (const auto column : {versionColumn, holderColumn, tokenColumn, releasedColumn, livenessColumn}) row[column] = {};
  row[counterLeaseColumn] = "0";
  return row;
}

TEST(RecordCodec, understandsWhatItWrites) {
  const auto lease = leaseFrom(place, goodRow());
  ASSERT_TRUE(lease.has_value());
  const LeaseRecord record = **lease->record;
  EXPECT_EQ(lease->key, (LeaseKey{"billing", "eu"}));
  EXPECT_EQ(record.holder, "a#1");
  EXPECT_EQ(record.version, RecordVersion{"v"});
  EXPECT_EQ(record.version.history(), "1/1");
  EXPECT_EQ(record.token, FencingToken{7});
  EXPECT_EQ(record.data, std::string("\0\xFF", 2));
  EXPECT_EQ(record.attributes.at("zone"), "eu");
  EXPECT_EQ(record.livenessFile, (LivenessFile{"0a", "b", UINT64_MAX, 5}));
  EXPECT_FALSE(record.inherited);
  EXPECT_FALSE(record.released);
  EXPECT_EQ(textOf(record.livenessFile), R"({"boot_id":"b","device":"18446744073709551615","id":"0a","inode":"5"})");
  EXPECT_EQ(hexOf(record.data), "00ff");
}

TEST(RecordCodec, namesTableLeaseAndColumnOfWhatItDoesNotUnderstand) {
  const std::vector<std::tuple<LeaseColumn, Value, const char*>> bad{{versionColumn, "", "version"},
                                                                     {holderColumn, "", "holder"},
                                                                     {holderColumn, std::nullopt, "holder"},
                                                                     {tokenColumn, "0", "token"},
                                                                     {tokenColumn, "-1", "token"},
                                                                     {tokenColumn, "9007199254740992", "token"},
                                                                     {tokenColumn, std::nullopt, "token"},
                                                                     {leaseColumn, "0", "lease_ms"},
                                                                     {leaseColumn, "-5", "lease_ms"},
                                                                     {leaseColumn, "604800001", "lease_ms"},
                                                                     {leaseColumn, std::nullopt, "lease_ms"},
                                                                     {releasedColumn, std::nullopt, "released"},
                                                                     {attributesColumn, "[]", "attributes"},
                                                                     {attributesColumn, R"({"a": 1})", "attributes"},
                                                                     {layoutColumn, "2", "layout"},
                                                                     {dataColumn, "0", "data"}};
  for (const auto& [column, value, name] : bad) {
    Row row = goodRow();
    row[column] = value;
    const auto lease = leaseFrom(place, row);
    ASSERT_TRUE(lease.has_value());
    const ReadOutcome told = lease->told();
    ASSERT_TRUE(told.has_error()) << name << ' ' << value.value_or("NULL");
    EXPECT_EQ(told.error().errorClass, ErrorClass::corrupt);
    for (const std::string& part : {std::string{"column "} + name, std::string{"billing/eu"}, place.table}) {
      EXPECT_NE(told.error().message.find(part), std::string::npos) << told.error().message;
    }
  }
}

TEST(RecordCodec, anIncompleteLivenessFileProvesNothing) {
  for (const char* text : {"{}", R"({"id": "0a"})", R"({"id":"","boot_id":"b","device":"1","inode":"1"})",
                           R"({"id":"a","boot_id":"b","device":"x","inode":"1"})", "[]"}) {
    Row row = goodRow();
    row[livenessColumn] = text;
    EXPECT_EQ((*leaseFrom(place, row)->record)->livenessFile, std::nullopt) << text;
  }
}

TEST(RecordCodec, aRowWithoutARecordTellsWhetherATermMayRun) {
  EXPECT_EQ(*leaseFrom(place, removedRow())->told(), std::nullopt);
  Row open = removedRow();
  open[counterLeaseColumn] = "2000";
  const auto vanished = *leaseFrom(place, open)->told();
  ASSERT_TRUE(vanished.has_value());
  EXPECT_EQ(*vanished, vanishedRecord(FencingToken{7}, std::chrono::milliseconds{2'000}));
  EXPECT_EQ(vanished->version.history(), "1/1");
}

TEST(RecordCodec, whatAnEarlierHistoryLeftIsInherited) {
  Row row = goodRow();
  row[presentHistoryColumn] = "1/2";
  const auto lease = leaseFrom(place, row);
  EXPECT_TRUE((*lease->record)->inherited);
  EXPECT_EQ((*lease->record)->version.history(), "1/2");
  Row removed = removedRow();
  removed[presentHistoryColumn] = "1/2";
  const auto vanished = *leaseFrom(place, removed)->told();
  ASSERT_TRUE(vanished.has_value()) << "an acquisition may be lost";
  EXPECT_TRUE(vanished->inherited);
  EXPECT_EQ(vanished->leaseDuration, std::chrono::milliseconds{10'000}) << "the last lease that is known";
}

TEST(RecordCodec, aCounterThatIsMalformedMattersWhereThereIsNoRecord) {
  Row row = goodRow();
  row[counterColumn] = "9007199254740992";
  EXPECT_TRUE(leaseFrom(place, row)->told().has_value());
  EXPECT_TRUE(leaseFrom(place, row)->counter.has_error());
  Row removed = removedRow();
  removed[counterColumn] = "9007199254740992";
  ASSERT_TRUE(leaseFrom(place, removed)->told().has_error());
  EXPECT_EQ(leaseFrom(place, removed)->told().error().errorClass, ErrorClass::corrupt);
}

TEST(RecordCodec, showsAnOperatorTheTextsAsTheyAre) {
  Row row = goodRow();
  row[tokenColumn] = "9007199254740992";
  row[counterColumn] = "0";
  const StoredTokens tokens = tokensFrom(row);
  EXPECT_EQ(tokens, (StoredTokens{"", "9007199254740992", "v", "a#1", false, std::chrono::milliseconds{10'000}}));
  EXPECT_EQ(tokensFrom(Row(leaseColumnCount)), StoredTokens{});
}

TEST(RecordCodec, aLeaseOfAllTimeIsTheLongestOneToAnOperator) {
  Row row = goodRow();
  for (const char* millis : {"604800001", "9223372036854775807"}) {
    row[leaseColumn] = millis;
    EXPECT_EQ(tokensFrom(row).lease, maxRecordLease) << millis;
  }
  row[leaseColumn] = "-9223372036854775808";
  row[counterLeaseColumn] = "-1";
  EXPECT_EQ(tokensFrom(row).lease, std::chrono::milliseconds{0});
}

TEST(RecordCodec, aRowOfAnotherShapeIsRefused) {
  const auto lease = leaseFrom(place, Row(3));
  ASSERT_TRUE(lease.has_error());
  EXPECT_EQ(lease.error().errorClass, ErrorClass::misconfigured);
}

TEST(Statements, quotesNamesTextsAndLists) {
  EXPECT_EQ(qualifiedName("s", "it's \"x\""), R"("s"."it's ""x""")");
  EXPECT_EQ(quotedText("it's"), "'it''s'");
  EXPECT_EQ(quotedText("a\\b"), "E'a\\\\b'");
  EXPECT_EQ(arrayLiteral({"a\"b\\", std::nullopt, "", "NULL"}), R"({"a\"b\\",NULL,"","NULL"})");
  EXPECT_EQ(arrayLiteral({}), "{}");
}

TEST(Statements, noPieceIsLeftOut) {
  const Statements statements{"public", "tenure_lease"};
  for (std::size_t id = 0; id < statementCount; ++id) {
    for (const bool history : {false, true}) {
      const std::string& sql = statements.sql(static_cast<StatementId>(id), history);
      EXPECT_FALSE(sql.empty()) << id;
      std::string rest = sql;
      for (std::size_t at = rest.find("[]"); at != std::string::npos; at = rest.find("[]")) rest.erase(at, 2);
      EXPECT_EQ(rest.find('['), std::string::npos) << sql;
      EXPECT_EQ(rest.find('%'), std::string::npos) << sql;
    }
  }
}

}  // namespace
}  // namespace tenure::postgresql_store
