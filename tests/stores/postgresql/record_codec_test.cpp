// Rows as values: what the store writes is understood, and everything else is named.
#include "lockcore/stores/postgresql/src/record_codec.hpp"

#include <gtest/gtest.h>

#include "contract/store_calls.hpp"
#include "lockcore/stores/postgresql/src/statements.hpp"
#include "stores/postgresql/row_support.hpp"

namespace tenure::postgresql_store {
namespace {

const Place& place = testPlace;

bool isIn(const std::string& part, const std::string& text) { return text.find(part) != std::string::npos; }

TEST(RecordCodec, understandsWhatItWrites) {
  const auto lease = leaseFrom(place, goodRow());
  ASSERT_TRUE(lease.has_value());
  const LeaseRecord record = (**lease->record).record;
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
  EXPECT_EQ(byteaOf(record.data), R"(\x00ff)");
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
    const ReadOutcome told = lease->answer();
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
    EXPECT_EQ((**leaseFrom(place, row)->record).record.livenessFile, std::nullopt) << text;
  }
}

TEST(RecordCodec, aRowWithoutARecordTellsWhetherATermMayRun) {
  EXPECT_EQ(*leaseFrom(place, removedRow())->answer(), std::nullopt);
  Row open = removedRow();
  open[counterLeaseColumn] = "2000";
  const auto vanished = *leaseFrom(place, open)->answer();
  ASSERT_TRUE(vanished.has_value());
  EXPECT_EQ(*vanished, vanishedRecord(FencingToken{7}, std::chrono::milliseconds{2'000}));
  EXPECT_EQ(vanished->version.history(), "1/1");
}

TEST(RecordCodec, whatAnEarlierHistoryLeftIsInherited) {
  Row row = goodRow();
  row[presentHistoryColumn] = "1/2";
  const auto lease = leaseFrom(place, row);
  EXPECT_TRUE((**lease->record).record.inherited);
  EXPECT_EQ((**lease->record).record.version.history(), "1/2");
  Row removed = removedRow();
  removed[presentHistoryColumn] = "1/2";
  const auto vanished = *leaseFrom(place, removed)->answer();
  ASSERT_TRUE(vanished.has_value()) << "an acquisition may be lost";
  EXPECT_TRUE(vanished->inherited);
  EXPECT_EQ(vanished->leaseDuration, std::chrono::milliseconds{10'000}) << "the last lease that is known";
}

TEST(RecordCodec, aCounterThatIsMalformedMattersWhereThereIsNoRecord) {
  Row row = goodRow();
  row[counterColumn] = "9007199254740992";
  EXPECT_TRUE(leaseFrom(place, row)->answer().has_value());
  EXPECT_TRUE(leaseFrom(place, row)->counter.has_error());
  Row removed = removedRow();
  removed[counterColumn] = "9007199254740992";
  ASSERT_TRUE(leaseFrom(place, removed)->answer().has_error());
  EXPECT_EQ(leaseFrom(place, removed)->answer().error().errorClass, ErrorClass::corrupt);
}

TEST(RecordCodec, saysWhyATermIsNotRenewed) {
  Row row = goodRow();
  EXPECT_FALSE(stateOf(row)->over);
  row[counterColumn] = "8";
  ASSERT_TRUE(stateOf(row)->over);
  EXPECT_EQ(stateOf(row)->over->errorClass, ErrorClass::transient) << "nobody has the lease yet";
  EXPECT_TRUE(isIn("announced", stateOf(row)->over->message));
  row[counterColumn] = "17";
  EXPECT_FALSE(isIn("announced", stateOf(row)->over->message)) << "nobody has";
  EXPECT_TRUE(isIn("counter 17", stateOf(row)->over->message));
}

TEST(RecordCodec, warnsOfANewHistory) {
  Row row = goodRow();
  EXPECT_EQ(stateOf(row)->warning, "");
  row[presentHistoryColumn] = "1/2";
  EXPECT_TRUE(isIn("from 1/1 to 1/2", stateOf(row)->warning)) << stateOf(row)->warning;
  EXPECT_TRUE(isIn("promoted", stateOf(row)->warning));
  EXPECT_EQ(stateOf(Row(leaseColumnCount))->warning, "") << "there is no row";
}

TEST(RecordCodec, aHoldersOwnWritesLeaveHistoriesAndATakeoverWritesThePresentOne) {
  Row row = goodRow();
  row[historyColumn] = row[counterHistoryColumn] = "1/1";
  row[presentHistoryColumn] = "1/2";
  const auto seen = stateOf(row);
  const LeaseKey key{"billing", "eu"};
  const auto after = [&](const WriteRequest& request) {
    const stored::Decision decision = stored::decideWrite("postgresql", request, *seen);
    return stateAfter(place, *seen, key, std::get<stored::Change>(decision));
  };
  const RowState renewed = after(contract::renew(key, "a#1", {RecordVersion{"v"}}));
  EXPECT_EQ(renewed.row[historyColumn], "1/1") << "it may have been sent before an acquisition that was lost";
  EXPECT_TRUE(renewed.inherited);
  EXPECT_TRUE((**renewed.record).record.inherited);
  const RowState taken = after(contract::acquire(key, "b", {RecordVersion{"v", "1/2"}}));
  EXPECT_EQ(taken.row[historyColumn], "1/2");
  EXPECT_EQ(taken.row[counterHistoryColumn], "1/2");
  EXPECT_FALSE(taken.inherited);
  EXPECT_EQ((**taken.record).record.version.history(), "1/2");
}

/// What this process keeps of its own write is what it would read.
TEST(RecordCodec, whatAWriteLeavesIsWhatIsReadThen) {
  const LeaseKey key{"billing", "eu"};
  const auto seen = stateOf(goodRow());
  WriteRequest renewal = contract::renew(key, "a#1", {RecordVersion{"v"}});
  WriteRequest removing = contract::release(key, "a#1", {RecordVersion{"v"}});
  removing.removes = true;
  for (const WriteRequest& request : {renewal, contract::acquire(key, "b", {RecordVersion{"v", "1/1"}}),
                                      contract::release(key, "a#1", {RecordVersion{"v"}}), removing}) {
    const stored::Decision decision = stored::decideWrite("postgresql", request, *seen);
    const RowState kept = stateAfter(place, *seen, key, std::get<stored::Change>(decision));
    Row row = kept.row;
    row[dataColumn] = "00ff";
    row[acquiredAtColumn] = row[renewedAtColumn] = "0";
    const auto read = stateOf(row);
    EXPECT_EQ(*read->counter, *kept.counter);
    ASSERT_EQ(read->record->has_value(), kept.record->has_value());
    EXPECT_EQ(read->revision, kept.revision);
    EXPECT_EQ(read->inherited, kept.inherited);
    if (!*read->record) continue;
    LeaseRecord expected = (**kept.record).record;
    expected.acquiredAtMillis = expected.renewedAtMillis = 0;
    EXPECT_EQ((**read->record).record, expected);
    EXPECT_EQ((**read->record).record.version.history(), expected.version.history());
    EXPECT_EQ((**read->record).stepDown, (**kept.record).stepDown);
  }
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
      for (std::size_t at = rest.find("{}"); at != std::string::npos; at = rest.find("{}")) rest.erase(at, 2);
      EXPECT_EQ(rest.find('{'), std::string::npos) << sql;
    }
  }
}

}  // namespace
}  // namespace tenure::postgresql_store
