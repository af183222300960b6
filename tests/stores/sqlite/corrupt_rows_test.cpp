// Rows that this library did not write: reported by name, listed beside the good ones, never overwritten (invariant
// I11).
#include <gtest/gtest.h>

#include "sqlite_support.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

struct Damage {
  std::string column;
  std::string value;
};

class SqliteCorruptRow : public testing::TestWithParam<Damage> {
 protected:
  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
  const LeaseKey key_{"billing", "eu"};
};

TEST_P(SqliteCorruptRow, isNamedAndLeftAlone) {
  Store store{path_};
  const FencingToken token = store->apply(acquire(key_, "a")).token;
  const RecordVersion version = store->record(key_).version;
  const auto& [column, value] = GetParam();
  Shell shell{path_};
  shell.run("UPDATE tenure_lease SET " + column + " = " + value);
  const auto before = shell.rows("SELECT * FROM tenure_lease");

  const ReadOutcome read = store->startRead(key_)->get();
  ASSERT_TRUE(read.has_error());
  EXPECT_EQ(read.error().errorClass, ErrorClass::corrupt);
  for (const std::string& part : {path_, std::string{"lease billing/eu"}, "column " + column, std::string{"by hand"}}) {
    EXPECT_TRUE(contains(read.error().message, part)) << read.error().message << "\nlacks " << part;
  }
  const RecordVersion stored{shell.value("SELECT record_version FROM tenure_lease")};
  for (const auto& expected : {version, stored.isNone() ? version : stored}) {
    for (const WriteOutcome& outcome :
         {store->write(acquire(key_, "b", {expected})), store->write(renew(key_, "a", {expected})),
          store->write(release(key_, "a", {expected})), store->requestStepDown(key_, token)}) {
      ASSERT_TRUE(std::holds_alternative<Rejected>(outcome)) << describe(outcome);
      EXPECT_EQ(errorOf(outcome).errorClass, ErrorClass::corrupt);
    }
  }
  EXPECT_EQ(shell.rows("SELECT * FROM tenure_lease"), before);
}

INSTANTIATE_TEST_SUITE_P(EachColumn, SqliteCorruptRow,
                         testing::Values(Damage{"state", "'free'"}, Damage{"state", "''"}, Damage{"holder", "''"},
                                         Damage{"token", "0"}, Damage{"token", "-7"}, Damage{"lease_ms", "0"},
                                         Damage{"lease_ms", "-5"}, Damage{"lease_ms", "604800001"},
                                         Damage{"record_version", "''"}, Damage{"attributes", "'region=eu'"},
                                         Damage{"attributes", "'{\"a\":1}'"}));

TEST(SqliteCorruptRows, aLeaseOfAllTimeIsTheLongestOneToAnOperator) {
  const test::TempDir directory;
  const std::string path = directory.file("leases.db");
  Store store{path};
  store->apply(acquire({"lease"}, "a"));
  for (const char* millis : {"604800001", "9223372036854775807"}) {
    Shell{path}.run(std::string{"UPDATE tenure_lease SET lease_ms = "} + millis);
    EXPECT_EQ(store->tokens({"lease"}).lease, maxRecordLease) << millis;
  }
}

TEST(SqliteCorruptRows, areListedBesideTheGoodOnes) {
  const test::TempDir directory;
  const std::string path = directory.file("leases.db");
  Store store{path};
  for (const char* name : {"a", "b", "c"}) store->apply(acquire({name}, "holder"));
  Shell{path}.run("UPDATE tenure_lease SET lease_ms = 0 WHERE name = 'b'");
  const auto listed = store->list("");
  ASSERT_EQ(listed.size(), 3U);
  EXPECT_TRUE(listed[0].record.has_value());
  EXPECT_EQ(listed[1].key, LeaseKey{"b"});
  EXPECT_TRUE(listed[1].record.has_error());
  EXPECT_TRUE(listed[2].record.has_value());
}

// A program that created the tables itself, without STRICT, may have written anything into them.
TEST(SqliteCorruptRows, ofTheWrongTypeAreNotTakenForNumbers) {
  const test::TempDir directory;
  const std::string path = directory.file("leases.db");
  {
    Store store{path};
    store->apply(acquire({"lease"}, "a"));
  }
  Shell shell{path};
  shell.run(
      "CREATE TABLE copy(name TEXT, sort_key TEXT, state, holder, token, lease_ms, record_version, acquired_at,"
      " renewed_at, step_down_token, acquired_at_ms, renewed_at_ms, beacon_id, beacon_device, beacon_inode, boot_id,"
      " data, attributes, PRIMARY KEY(name, sort_key));"
      "INSERT INTO copy SELECT * FROM tenure_lease; DROP TABLE tenure_lease; ALTER TABLE copy RENAME TO tenure_lease");
  Store store{path};
  ASSERT_EQ(store->record({"lease"}).holder, "a") << "the copy as such is fine";
  const std::pair<const char*, const char*> damages[] = {{"lease_ms", "'20s'"}, {"token", "'5'"},
                                                         {"state", "1"},        {"holder", "x'61'"},
                                                         {"data", "3.14"},      {"record_version", "NULL"}};
  for (const auto& [column, value] : damages) {
    shell.run(std::string{"SAVEPOINT s; UPDATE tenure_lease SET "} + column + " = " + value + "; RELEASE s");
    const ReadOutcome read = store->startRead({"lease"})->get();
    ASSERT_TRUE(read.has_error()) << column;
    EXPECT_EQ(read.error().errorClass, ErrorClass::corrupt);
    EXPECT_TRUE(contains(read.error().message, std::string{"column "} + column)) << read.error().message;
    shell.run(
        "UPDATE tenure_lease SET lease_ms = 10000, token = 1, state = 'held', holder = 'a', data = NULL,"
        " record_version = 'v'");
  }
  shell.run("UPDATE tenure_lease SET beacon_inode = 'x', acquired_at_ms = 'x', step_down_token = 'x'");
  EXPECT_EQ(store->record({"lease"}).livenessFile, std::nullopt) << "half a liveness file is none";
  EXPECT_EQ(store->record({"lease"}).acquiredAtMillis, 0) << "for display only";
}

}  // namespace
}  // namespace tenure::sqlite_test
