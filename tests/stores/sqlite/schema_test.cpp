// The tables as people and other programs see them.
#include <filesystem>
#include <memory>

#include <gtest/gtest.h>

#include "actor.hpp"
#include "sqlite_support.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

class SqliteSchema : public testing::Test {
 protected:
  /// The message of the `misconfigured` error that every call must give.
  static std::string rejectionOf(Store& store) {
    const StoreStatus status = store->startEnsureSchema()->get();
    EXPECT_TRUE(status.has_error());
    if (!status.has_error()) return {};
    std::string message = status.error().message;
    EXPECT_EQ(status.error().errorClass, ErrorClass::misconfigured) << message;
    EXPECT_EQ(errorOf(store->write(acquire({"lease"}, "a"))).errorClass, ErrorClass::misconfigured);
    EXPECT_EQ(store->startRead({"lease"})->get().error().errorClass, ErrorClass::misconfigured);
    EXPECT_EQ(store->startList("")->get().error().errorClass, ErrorClass::misconfigured);
    return message;
  }

  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
};

TEST_F(SqliteSchema, theShellShowsPlainColumns) {
  Store store{path_};
  WriteRequest request = acquire({"billing"}, "host-1#0123");
  request.record.attributes = {{"region", "eu"}};
  request.record.data = "payload";
  store->apply(std::move(request));
  const std::string version = store->record({"billing"}).version.text();
  Shell shell{path_};
  EXPECT_EQ(
      shell.value("SELECT name, sort_key, state, holder, token, lease_ms, record_version, acquired_at, renewed_at,"
                  " data, attributes FROM tenure_lease"),
      "billing||held|host-1#0123|1|10000|" + version +
          "|2026-11-06T21:20:00.000Z|2026-11-06T21:20:00.500Z|payload|{\"region\":\"eu\"}");
  EXPECT_EQ(shell.value("SELECT beacon_id, beacon_device, beacon_inode, boot_id FROM tenure_lease"),
            "0123456789abcdef0123456789abcdef|66|1234567|6a3c1f0e-1111-4222-8333-abcdefabcdef");
  EXPECT_EQ(shell.value("SELECT * FROM tenure_fence"), "billing||1|10000");
  EXPECT_EQ(shell.value("SELECT * FROM tenure_meta"), "schema_version|1");
  store->apply(release({"billing"}, "host-1#0123", {RecordVersion{version}}));
  EXPECT_EQ(shell.value("SELECT state, token FROM tenure_lease"), "released|1");
  EXPECT_EQ(shell.value("SELECT * FROM tenure_fence"), "billing||1|") << "the term has ended";
  EXPECT_EQ(shell.value("PRAGMA journal_mode"), "wal");
}

TEST_F(SqliteSchema, wrongTypesAreRefusedByTheTables) {
  Store store{path_};
  store->apply(acquire({"lease"}, "a"));
  Shell shell{path_};
  EXPECT_THROW(shell.run("UPDATE tenure_lease SET token = 'seven'"), std::runtime_error);
  EXPECT_THROW(shell.run("UPDATE tenure_lease SET holder = NULL"), std::runtime_error);
  EXPECT_THROW(shell.run("UPDATE tenure_fence SET token = 'seven'"), std::runtime_error);
}

TEST_F(SqliteSchema, livesBesideUsersTablesInTheirDatabase) {
  Shell shell{path_};
  shell.run("CREATE TABLE invoices(id INTEGER PRIMARY KEY); INSERT INTO invoices VALUES(7); PRAGMA user_version = 42");
  Store store{path_};
  EXPECT_EQ(store->read({"lease"}), std::nullopt);
  EXPECT_EQ(store->list("").size(), 0U);
  EXPECT_TRUE(isConflictWith(store->write(renew({"lease"}, "a", {RecordVersion{"v"}})), std::nullopt));
  EXPECT_EQ(shell.rows("SELECT name FROM sqlite_schema"), std::vector<std::string>{"invoices"})
      << "reading makes nothing";
  store->apply(acquire({"lease"}, "a"));
  EXPECT_EQ(shell.value("SELECT id FROM invoices"), "7");
  EXPECT_EQ(shell.value("PRAGMA user_version"), "42");
  EXPECT_EQ(shell.value("PRAGMA journal_mode"), "wal") << "switched from a rollback journal";
}

TEST_F(SqliteSchema, aNewerVersionIsRefusedWithBothNumbers) {
  {
    Store store{path_};
    store->apply(acquire({"lease"}, "a"));
  }
  Shell shell{path_};
  shell.run("UPDATE tenure_meta SET value = '2'");
  Store store{path_};
  const std::string message = rejectionOf(store);
  EXPECT_TRUE(contains(message, path_)) << message;
  EXPECT_TRUE(contains(message, "schema version 2")) << message;
  EXPECT_TRUE(contains(message, "knows 1")) << message;
  for (const char* value : {"'0'", "'-1'", "'1x'", "''", "'one'"}) {
    shell.run(std::string{"UPDATE tenure_meta SET value = "} + value);
    EXPECT_NE(rejectionOf(store), "") << value;
  }
  shell.run("DELETE FROM tenure_meta");
  EXPECT_TRUE(contains(rejectionOf(store), "(none)"));
  shell.run("INSERT INTO tenure_meta VALUES('schema_version', '1')");
  EXPECT_EQ(store->record({"lease"}).holder, "a") << "put right, it works again";
}

TEST_F(SqliteSchema, tablesOfAnotherShapeAreRefused) {
  Shell{path_}.run(
      "CREATE TABLE tenure_meta(key TEXT, value TEXT); INSERT INTO tenure_meta VALUES('schema_version', '1');"
      "CREATE TABLE tenure_lease(name TEXT, owner TEXT)");
  Store store{path_};
  EXPECT_TRUE(contains(rejectionOf(store), "the tenure_* tables are not as this version made them"));
}

TEST_F(SqliteSchema, whatIsNoTableIsRefusedForGood) {
  for (const char* other : {"VIEW tenure_lease AS SELECT 1 AS name", "INDEX tenure_fence ON users(id)"}) {
    Shell{path_}.run(std::string{"CREATE TABLE IF NOT EXISTS users(id); CREATE "} + other);
    Store store{path_};
    const StoreError error = errorOf(store->write(acquire({"lease"}, "a")));
    EXPECT_TRUE(contains(error.message, "and not a table")) << error.message;
    EXPECT_TRUE(error.permanent) << error.message;
    EXPECT_TRUE(contains(rejectionOf(store), "and not a table"));
    Shell{path_}.run("DROP VIEW IF EXISTS tenure_lease");
  }
}

TEST_F(SqliteSchema, aDatabaseInUtf16IsRefused) {
  Shell shell{path_};
  shell.run("PRAGMA encoding = 'UTF-16'; CREATE TABLE users(id)");
  Store store{path_};
  EXPECT_TRUE(contains(rejectionOf(store), "UTF-16"));
  EXPECT_EQ(shell.value("PRAGMA journal_mode"), "delete") << "refused before anything was changed";
}

TEST_F(SqliteSchema, isMadeOnceBySeveralAtOnce) {
  for (int round = 0; round < 5; ++round) {
    const std::string path = directory_.file("fresh" + std::to_string(round));
    std::vector<std::unique_ptr<Store>> stores;
    for (int i = 0; i < 6; ++i) stores.push_back(std::make_unique<Store>(path));
    std::vector<contract::Pending<StoreStatus>> made;
    for (const auto& store : stores) made.push_back((*store)->startEnsureSchema());
    for (const auto& status : made) {
      const StoreStatus result = status->get();
      EXPECT_FALSE(result.has_error()) << result.error().message;
    }
    EXPECT_EQ(Shell{path}.rows("SELECT * FROM tenure_meta"), std::vector<std::string>{"schema_version|1"});
  }
}

TEST_F(SqliteSchema, readingMakesNoFile) {
  Store store{path_};
  EXPECT_EQ(store->read({"lease"}), std::nullopt);
  EXPECT_EQ(store->list("").size(), 0U);
  EXPECT_TRUE(isConflictWith(store->write(renew({"lease"}, "a", {RecordVersion{"v"}})), std::nullopt));
  EXPECT_TRUE(isConflictWith(store->requestStepDown({"lease"}, FencingToken{1}), std::nullopt));
  EXPECT_EQ(filesIn(directory_.path()).size(), 0U);
}

}  // namespace
}  // namespace tenure::sqlite_test
