// A row is deleted while its holder lives: the counter's row says that the term is open, in each version of the file.
#include <chrono>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "sqlite_support.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

using std::chrono::milliseconds;

class SqliteVanishedRecord : public testing::Test {
 protected:
  [[nodiscard]] std::string counter() const {
    return Shell{path_}.value("SELECT token, coalesce(lease_ms, 'none') FROM tenure_fence WHERE name = 'lease'");
  }
  void deleteRow() const { Shell{path_}.run("DELETE FROM tenure_lease"); }

  /// A file as the last release created it, with a row of the counter.
  void makeOlderFile() const {
    Shell{path_}.run(
        "PRAGMA journal_mode = WAL;"
        "CREATE TABLE tenure_meta(key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;"
        "CREATE TABLE tenure_lease(name TEXT NOT NULL, sort_key TEXT NOT NULL DEFAULT '', state TEXT NOT NULL,"
        " holder TEXT NOT NULL, token INTEGER NOT NULL, lease_ms INTEGER NOT NULL, record_version TEXT NOT NULL,"
        " acquired_at TEXT GENERATED ALWAYS AS (strftime('%Y', acquired_at_ms / 1000.0, 'unixepoch')),"
        " renewed_at TEXT GENERATED ALWAYS AS (strftime('%Y', renewed_at_ms / 1000.0, 'unixepoch')),"
        " step_down_token INTEGER, acquired_at_ms INTEGER NOT NULL DEFAULT 0, renewed_at_ms INTEGER NOT NULL DEFAULT 0,"
        " beacon_id TEXT, beacon_device INTEGER, beacon_inode INTEGER, boot_id TEXT, data BLOB, attributes TEXT,"
        " PRIMARY KEY(name, sort_key)) STRICT, WITHOUT ROWID;"
        "CREATE TABLE tenure_fence(name TEXT NOT NULL, sort_key TEXT NOT NULL DEFAULT '', token INTEGER NOT NULL,"
        " PRIMARY KEY(name, sort_key)) STRICT, WITHOUT ROWID;"
        "INSERT INTO tenure_meta VALUES('schema_version', '1'); INSERT INTO tenure_fence VALUES('lease', '', 41)");
  }
  /// What the last release does in an acquisition.
  static constexpr const char* olderAcquisition =
      "INSERT INTO tenure_fence(name, sort_key, token) VALUES('lease', '', 77)"
      " ON CONFLICT(name, sort_key) DO UPDATE SET token = 77";

  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
  const LeaseKey key_{"lease"};
};

TEST_F(SqliteVanishedRecord, theCounterStatesTheLeaseUntilTheTermEnds) {
  Store store{path_};
  store->apply(acquire(key_, "a"));
  EXPECT_EQ(counter(), "1|10000");
  WriteRequest longer = renew(key_, "a", {store->record(key_).version});
  longer.record.leaseDuration = milliseconds{60'000};
  store->apply(std::move(longer));
  EXPECT_EQ(counter(), "1|60000");
  store->apply(renew(key_, "a", {store->record(key_).version}));  // back to 10 s
  EXPECT_EQ(counter(), "1|60000") << "a newcomer may have seen nothing of the shorter one";
  store->apply(release(key_, "a", {store->record(key_).version}));
  EXPECT_EQ(counter(), "1|none");
}

// In an earlier design, files beside the database said so, one for each acquisition; a crash left them half written.
TEST_F(SqliteVanishedRecord, aNewcomerIsToldOfTheOpenTermWhoeverWroteIt) {
  Store holder{path_};
  holder->apply(acquire(key_, "a"));
  deleteRow();
  Store newcomer{path_};
  const std::optional<LeaseRecord> seen = newcomer->read(key_);
  ASSERT_EQ(seen, vanishedRecord(FencingToken{1}, milliseconds{10'000}));
  EXPECT_TRUE(isConflictWith(newcomer->write(acquire(key_, "b")), seen));
  EXPECT_EQ(newcomer->list("").size(), 0U);
  EXPECT_EQ(newcomer->apply(acquire(key_, "b", {seen->version})).token, FencingToken{2});
  EXPECT_EQ(counter(), "2|10000");
}

TEST_F(SqliteVanishedRecord, noFileIsWrittenAtAnAcquisition) {
  Store store{path_};
  const auto handle = store.raw().watch(key_, [] {});
  store->apply(acquire(key_, "a"));
  EXPECT_TRUE(eventually([&] { return filesIn(sidecarOf(path_)).size() == 3; }));
  const auto before = filesIn(sidecarOf(path_));
  for (int i = 0; i < 3; ++i) store->apply(acquire(key_, "a", {store->record(key_).version}));
  EXPECT_EQ(filesIn(sidecarOf(path_)), before);
}

TEST_F(SqliteVanishedRecord, pruneOfAHeldRecordLeavesItsTermOpen) {
  Store store{path_};
  store->apply(acquire(key_, "a"));
  Shell{path_}.run("UPDATE tenure_fence SET lease_ms = NULL, token = 0");  // as if an older release had acquired
  ASSERT_TRUE(std::holds_alternative<Applied>(store->remove(key_, store->record(key_).version)));
  EXPECT_EQ(counter(), "1|10000");
}

// Its token is above that of the record: somebody has restored an older record.
TEST_F(SqliteVanishedRecord, theEndOfAnOlderTermDoesNotEndALaterOne) {
  Store store{path_};
  store->apply(acquire(key_, "a"));
  Shell{path_}.run("UPDATE tenure_fence SET token = 9, lease_ms = 7000");
  store->apply(release(key_, "a", {store->record(key_).version}));
  EXPECT_EQ(counter(), "9|7000");
  ASSERT_TRUE(std::holds_alternative<Applied>(store->remove(key_, store->record(key_).version)));
  EXPECT_EQ(counter(), "9|7000");
}

// "It cannot be read" must not become "nobody holds it".
TEST_F(SqliteVanishedRecord, aCounterThatMakesNoSenseIsAnErrorAndNotAnEndedTerm) {
  Store store{path_};
  store->apply(acquire(key_, "a"));
  const std::string version = store->record(key_).version.text();
  deleteRow();
  Shell shell{path_};
  for (const char* damage : {"lease_ms = -1", "lease_ms = 604800001", "token = 9007199254740992"}) {
    shell.run(std::string{"UPDATE tenure_fence SET token = 1, lease_ms = 10000; UPDATE tenure_fence SET "} + damage);
    const ReadOutcome read = store->startRead(key_)->get();
    ASSERT_TRUE(read.has_error()) << damage;
    EXPECT_EQ(read.error().errorClass, ErrorClass::corrupt) << damage;
    EXPECT_TRUE(contains(read.error().message, "tenure_fence")) << read.error().message;
    EXPECT_EQ(errorOf(store->write(acquire(key_, "b"))).errorClass, ErrorClass::corrupt) << damage;
    EXPECT_EQ(errorOf(store->write(renew(key_, "a", {RecordVersion{version}}))).errorClass, ErrorClass::corrupt);
  }
}

TEST_F(SqliteVanishedRecord, aDamagedCounterDoesNotEndTheTermOfALivingHolder) {
  Store store{path_};
  store->apply(acquire(key_, "a"));
  Shell{path_}.run("UPDATE tenure_fence SET lease_ms = -1");
  store->apply(renew(key_, "a", {store->record(key_).version}));
  store->apply(release(key_, "a", {store->record(key_).version}));
}

TEST_F(SqliteVanishedRecord, aFileOfTheLastReleaseGetsTheColumnAndServesBoth) {
  makeOlderFile();
  Store store{path_};
  EXPECT_EQ(store->apply(acquire(key_, "a")).token, FencingToken{42});
  EXPECT_EQ(counter(), "42|10000");
  EXPECT_EQ(Shell{path_}.value("SELECT value FROM tenure_meta"), "1") << "the last release refuses another version";
  Shell{path_}.run(olderAcquisition);
  EXPECT_EQ(counter(), "77|10000") << "it leaves the lease as it was, which at worst makes newcomers wait";
}

TEST_F(SqliteVanishedRecord, whoOnlyReadsAFileOfTheLastReleaseLearnsOfTheColumnWhenItComes) {
  makeOlderFile();
  Store reader{path_};
  EXPECT_EQ(reader->read(key_), std::nullopt);
  EXPECT_EQ(Shell{path_}.value("SELECT count(*) FROM pragma_table_info('tenure_fence')"), "3")
      << "reading changes nothing";
  Store holder{path_};
  holder->apply(acquire(key_, "a"));
  deleteRow();
  const std::optional<LeaseRecord> seen = reader->read(key_);
  ASSERT_TRUE(seen.has_value());
  EXPECT_TRUE(seen->vanished);
}

TEST_F(SqliteVanishedRecord, aRenewalAddsTheColumnToo) {
  makeOlderFile();
  Store store{path_};
  EXPECT_TRUE(isConflictWith(store->write(renew(key_, "a", {RecordVersion{"v"}})), std::nullopt));
  EXPECT_EQ(counter(), "41|none");
}

}  // namespace
}  // namespace tenure::sqlite_test
