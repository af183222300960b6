#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <tenure/adapters/sqlite_fence.hpp>

#include "adapters/test_database.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

TermStamp stamp(std::uint64_t token, std::string holder = "a#1") {
  return {"billing", FencingToken{token}, std::move(holder)};
}

class SqliteFenceSqlTest : public testing::Test {
 protected:
  SqliteFenceSqlTest() {
    database_.exec("CREATE TABLE jobs(id INTEGER PRIMARY KEY, state TEXT NOT NULL, token INTEGER)");
    database_.exec("INSERT INTO jobs VALUES(1, 'new', NULL), (2, 'new', NULL)");
  }

  void protect(const FencedTable& fenced, const std::string& tokenColumn = {}) const {
    database_.exec("BEGIN;" + sqliteFenceSql(fenced, tokenColumn) + "COMMIT");
  }

  /// True if SQLite itself refuses the statement, with this text in its message.
  [[nodiscard]] testing::AssertionResult refuses(const std::string& sql, const std::string& why) const {
    const std::string before = content();
    if (plain_.tryExec(sql) == SQLITE_OK) return testing::AssertionFailure() << "accepted: " << sql;
    if (sqlite3_extended_errcode(plain_.raw()) != SQLITE_CONSTRAINT_TRIGGER ||
        plain_.message().find(why) == std::string::npos) {
      return testing::AssertionFailure() << sql << ": " << plain_.message();
    }
    if (content() != before) return testing::AssertionFailure() << "refused, but changed: " << content();
    return testing::AssertionSuccess();
  }
  [[nodiscard]] testing::AssertionResult accepts(const std::string& sql) const {
    if (plain_.tryExec(sql) != SQLITE_OK) return testing::AssertionFailure() << sql << ": " << plain_.message();
    return testing::AssertionSuccess();
  }
  [[nodiscard]] std::string content() const {
    return plain_.text("SELECT coalesce(group_concat(id || state || coalesce(token, '-'), ' '), '') FROM jobs");
  }
  [[nodiscard]] std::int64_t highest() const {
    return plain_.number("SELECT token FROM tenure_fence_guard WHERE lease = 'billing'");
  }

  const test::TempDir directory_;
  const std::string file_ = directory_.file("user.db");
  const test::TestDatabase database_{file_};
  const test::TestDatabase plain_{file_};  // a writer that does not use this library
};

TEST_F(SqliteFenceSqlTest, aClosedTableIsChangedByFencedWritesOnly) {
  protect({.table = "jobs", .lease = "billing"});
  const std::string why = "tenure: table jobs is fenced by lease billing";
  EXPECT_TRUE(refuses("INSERT INTO jobs VALUES(3, 'new', 99)", why));
  EXPECT_TRUE(refuses("INSERT OR IGNORE INTO jobs VALUES(3, 'new', 99)", why));
  EXPECT_TRUE(refuses("INSERT OR REPLACE INTO jobs VALUES(1, 'new', 99)", why));
  EXPECT_TRUE(refuses("UPDATE jobs SET state = 'done', token = 99", why));
  EXPECT_TRUE(refuses("UPDATE OR IGNORE jobs SET state = 'done' WHERE id = 1", why));
  EXPECT_TRUE(refuses("DELETE FROM jobs WHERE id = 1", why));
  EXPECT_TRUE(refuses("DELETE FROM jobs", why));

  SqliteFence fence = SqliteFence::open(database_.raw()).value();
  const auto written = fence.write(stamp(5), [](sqlite3* database) {
    return sqlite3_exec(database,
                        "INSERT INTO jobs VALUES(3, 'new', NULL);"
                        "UPDATE jobs SET state = 'done' WHERE id = 1;"
                        "DELETE FROM jobs WHERE id = 2",
                        nullptr, nullptr, nullptr);
  });
  ASSERT_TRUE(written.has_value()) << written.error().message;
  EXPECT_EQ(content(), "1done- 3new-");
  EXPECT_TRUE(refuses("DELETE FROM jobs", why)) << "the fence stayed open";
  EXPECT_TRUE(fence.write(stamp(4), [](sqlite3*) {}).has_error());
}

TEST_F(SqliteFenceSqlTest, aFencedWriteInsideAnotherLeavesTheTableOpenForTheOuterOne) {
  protect({.table = "jobs", .lease = "billing"});
  SqliteFence fence = SqliteFence::open(database_.raw()).value();
  const auto outer = fence.write(stamp(5), [&](sqlite3* database) {
    EXPECT_TRUE(fence.write(stamp(5), [](sqlite3*) {}).has_value());
    EXPECT_TRUE(fence.write({"reports", FencingToken{1}, "a#1"}, [](sqlite3*) {}).has_value());
    return sqlite3_exec(database, "DELETE FROM jobs WHERE id = 1", nullptr, nullptr, nullptr);
  });
  ASSERT_TRUE(outer.has_value()) << outer.error().message;
  EXPECT_EQ(content(), "2new-");
  EXPECT_TRUE(refuses("DELETE FROM jobs", "tenure: table jobs is fenced by lease billing"));
}

/// The first write commits its open ticket, and begins a transaction in which it fails, or is killed.
TEST_F(SqliteFenceSqlTest, aWorkThatEndsTheTransactionLeavesNoTicket) {
  protect({.table = "jobs", .lease = "billing"});
  SqliteFence fence = SqliteFence::open(database_.raw()).value();
  const auto goesOn = [](sqlite3* database) -> int {
    sqlite3_exec(database, "COMMIT; BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
    throw std::runtime_error{"failed"};
  };
  EXPECT_THROW((void)fence.write(stamp(5), goesOn), std::runtime_error);
  EXPECT_TRUE(refuses("DELETE FROM jobs", "tenure: table jobs is fenced by lease billing"));

  database_.exec("UPDATE tenure_fence_guard SET ticket = 1");
  EXPECT_TRUE(fence.write(stamp(6), [](sqlite3*) {}).has_value());
  EXPECT_TRUE(refuses("DELETE FROM jobs", "tenure: table jobs is fenced by lease billing"));
}

TEST_F(SqliteFenceSqlTest, aWriteUnderAnotherLeaseDoesNotOpenTheTable) {
  protect({.table = "jobs", .lease = "billing"});
  SqliteFence fence = SqliteFence::open(database_.raw()).value();
  const auto written = fence.write({"reports", FencingToken{5}, "a#1"}, [](sqlite3* database) {
    return sqlite3_exec(database, "DELETE FROM jobs", nullptr, nullptr, nullptr);
  });
  ASSERT_TRUE(written.has_error());
  EXPECT_NE(written.error().message.find("fenced by lease billing"), std::string::npos) << written.error().message;
  EXPECT_EQ(content(), "1new- 2new-");
}

TEST_F(SqliteFenceSqlTest, plainInsertsCarryTheirToken) {
  protect({.table = "jobs", .lease = "billing"}, "token");
  EXPECT_TRUE(accepts("INSERT INTO jobs VALUES(3, 'new', 5)"));
  EXPECT_EQ(highest(), 5);
  EXPECT_TRUE(accepts("INSERT INTO jobs VALUES(4, 'new', 5)"));
  EXPECT_TRUE(refuses("INSERT INTO jobs VALUES(5, 'new', 4)", "stale fencing token"));
  EXPECT_TRUE(refuses("INSERT OR REPLACE INTO jobs VALUES(3, 'old', 4)", "stale fencing token"));
  EXPECT_TRUE(accepts("INSERT INTO jobs VALUES(5, 'new', 7)"));
  EXPECT_EQ(highest(), 7);
  EXPECT_TRUE(refuses("INSERT INTO jobs VALUES(6, 'new', 6)", "stale fencing token"));
  for (const char* none : {"NULL", "0", "-1", "'soon'", "7.5", "x'07'"}) {
    EXPECT_TRUE(refuses("INSERT INTO jobs VALUES(6, 'new', " + std::string{none} + ")", "must set token"));
  }
  EXPECT_TRUE(refuses("INSERT INTO jobs(id, state) VALUES(6, 'new')", "each INSERT and UPDATE must set token"));
}

TEST_F(SqliteFenceSqlTest, plainUpdatesNameTheirToken) {
  protect({.table = "jobs", .lease = "billing"}, "token");
  EXPECT_TRUE(accepts("UPDATE jobs SET state = 'busy', token = 5"));
  EXPECT_EQ(content(), "1busy5 2busy5");
  EXPECT_TRUE(refuses("UPDATE jobs SET state = 'lost'", "must set token")) << "the rows have the highest token already";
  EXPECT_TRUE(refuses("UPDATE jobs SET state = 'lost', token = 4 WHERE id = 1", "stale fencing token"));
  EXPECT_TRUE(refuses("UPDATE jobs SET token = NULL WHERE id = 1", "must set token"));
  EXPECT_TRUE(accepts("UPDATE jobs SET state = 'done', token = 6 WHERE id = 1"));
  EXPECT_EQ(highest(), 6);
  EXPECT_TRUE(refuses("UPDATE jobs SET state = 'lost', token = 5 WHERE id = 2", "stale fencing token"));
  EXPECT_TRUE(refuses("UPDATE jobs SET state = 'lost' WHERE id = 2", "must set token"));
  EXPECT_TRUE(refuses("INSERT INTO jobs VALUES(1, 'x', 6) ON CONFLICT(id) DO UPDATE SET state = 'x'", "must set"));
  EXPECT_TRUE(accepts("INSERT INTO jobs VALUES(1, 'x', 6) ON CONFLICT(id) DO UPDATE SET state = 'x', token = 6"));
  EXPECT_EQ(content(), "1x6 2busy5");
}

TEST_F(SqliteFenceSqlTest, aTokenAboveTheGreatestIsNoneWrittenOrStored) {
  protect({.table = "jobs", .lease = "billing"}, "token");
  EXPECT_TRUE(refuses("INSERT INTO jobs VALUES(3, 'new', 9007199254740992)", "each INSERT and UPDATE must set"));
  EXPECT_TRUE(refuses("UPDATE jobs SET token = 9223372036854775807", "each INSERT and UPDATE must set"));
  EXPECT_TRUE(accepts("INSERT INTO jobs VALUES(3, 'new', 9007199254740991)"));
  EXPECT_NE(plain_.tryExec("UPDATE tenure_fence_guard SET token = 9007199254740992"), SQLITE_OK);
  database_.exec("PRAGMA ignore_check_constraints = ON");  // as in a table that an older release created
  database_.exec("UPDATE tenure_fence_guard SET token = 9223372036854775807");
  const std::string damage = "remembers what is not a fencing token: tenure fence recover";
  EXPECT_TRUE(refuses("INSERT INTO jobs VALUES(4, 'new', 9007199254740991)", damage));
  EXPECT_TRUE(refuses("UPDATE jobs SET token = 5", damage));
}

TEST_F(SqliteFenceSqlTest, plainDeletesAreRefusedWhateverTheRowSays) {
  protect({.table = "jobs", .lease = "billing"}, "token");
  EXPECT_TRUE(accepts("UPDATE jobs SET token = 5"));
  EXPECT_TRUE(refuses("DELETE FROM jobs WHERE id = 1", "delete inside SqliteFence::write"));
  EXPECT_TRUE(refuses("DELETE FROM jobs", "delete inside SqliteFence::write"));
}

TEST_F(SqliteFenceSqlTest, plainSqlAndTheFenceShareOneCounter) {
  protect({.table = "jobs", .lease = "billing"}, "token");
  SqliteFence fence = SqliteFence::open(database_.raw()).value();
  EXPECT_EQ(fence.highestSeen("billing").value(), std::nullopt);
  EXPECT_TRUE(accepts("UPDATE jobs SET state = 'busy', token = 5"));
  EXPECT_EQ(fence.highestSeen("billing").value(), stamp(5, "")) << "whose token it is is not known";
  const auto stale = fence.write(stamp(4), [](sqlite3*) {});
  ASSERT_TRUE(stale.has_error());
  EXPECT_NE(stale.error().stale(), nullptr);
  EXPECT_TRUE(fence.write(stamp(5, "b#2"), [](sqlite3*) {}).has_value());
  EXPECT_EQ(fence.highestSeen("billing").value(), stamp(5, "b#2"));
  EXPECT_TRUE(fence.write(stamp(5, "c#3"), [](sqlite3*) {}).has_error());
  EXPECT_TRUE(fence
                  .write(stamp(8, "c#3"),
                         [](sqlite3* database) {
                           return sqlite3_exec(database, "UPDATE jobs SET state = 'done'", nullptr, nullptr, nullptr);
                         })
                  .has_value())
      << "inside the fence nothing has to be named";
  EXPECT_TRUE(refuses("UPDATE jobs SET state = 'lost', token = 5", "stale fencing token"));
  EXPECT_TRUE(accepts("UPDATE jobs SET state = 'busy', token = 9 WHERE id = 1"));
  EXPECT_EQ(fence.highestSeen("billing").value(), stamp(9, "")) << "the holder of token 8 is not that of 9";
}

TEST_F(SqliteFenceSqlTest, aRefusedStatementLeavesNoTicket) {
  protect({.table = "jobs", .lease = "billing"}, "token");
  database_.exec("CREATE UNIQUE INDEX one_busy ON jobs(state) WHERE state = 'busy'");
  EXPECT_NE(plain_.tryExec("UPDATE jobs SET state = 'busy', token = 5"), SQLITE_OK) << "not unique";
  EXPECT_TRUE(refuses("UPDATE jobs SET state = 'lost'", "must set token"));
  plain_.exec("BEGIN");
  EXPECT_TRUE(refuses("UPDATE jobs SET state = 'lost', token = 0", "must set token"));
  EXPECT_TRUE(refuses("UPDATE jobs SET state = 'lost'", "must set token"));
  plain_.exec("COMMIT");
  EXPECT_EQ(plain_.number("SELECT ticket FROM tenure_fence_guard"), 0);
}

/// Under OR IGNORE, or by a trigger of the user's, a statement with a good token skips rows. The next one needs its
/// own.
TEST_F(SqliteFenceSqlTest, aStatementThatSkipsRowsLeavesNoTicket) {
  protect({.table = "jobs", .lease = "billing"}, "token");
  database_.exec(
      "CREATE UNIQUE INDEX one_busy ON jobs(state) WHERE state = 'busy';"
      "CREATE TRIGGER skips BEFORE UPDATE ON jobs WHEN NEW.state = 'skip' BEGIN SELECT RAISE(IGNORE); END;"
      "CREATE TRIGGER stops AFTER UPDATE ON jobs WHEN NEW.state = 'stop' AND OLD.state <> 'stop' BEGIN SELECT "
      "RAISE(FAIL, 'stops'); END;"
      "CREATE VIEW work AS SELECT * FROM jobs; CREATE TRIGGER works INSTEAD OF UPDATE ON work BEGIN "
      "UPDATE OR IGNORE jobs SET state = NEW.state, token = NEW.token WHERE id = OLD.id; END");
  EXPECT_TRUE(accepts("UPDATE jobs SET state = 'busy', token = 5 WHERE id = 1"));
  const char* const skipping[] = {
      "UPDATE OR IGNORE jobs SET state = 'busy', token = 5 WHERE id = 2",
      "UPDATE OR IGNORE jobs SET state = 'busy', token = 5",
      "UPDATE OR IGNORE jobs SET state = 'busy', token = 5 FROM (SELECT 1) RETURNING id",
      "UPDATE OR IGNORE jobs SET id = 1, token = 5 WHERE id = 2",
      "UPDATE OR IGNORE jobs SET state = NULL, token = 5",
      "UPDATE OR FAIL jobs SET state = 'busy', token = 5",
      "UPDATE jobs SET state = 'skip', token = 5",
      "UPDATE jobs SET state = 'stop', token = 5",
      "UPDATE work SET state = 'busy', token = 5",
      "INSERT OR IGNORE INTO jobs VALUES(1, 'new', 5)",
      "INSERT INTO jobs VALUES(2, 'busy', 5) ON CONFLICT(id) DO UPDATE SET state = 'busy', token = 5",
      "SAVEPOINT s; UPDATE OR IGNORE jobs SET state = 'busy', token = 5; ROLLBACK TO s; RELEASE s"};
  for (const char* recursive : {"OFF", "ON"}) {
    plain_.exec("PRAGMA recursive_triggers = " + std::string{recursive});
    for (const char* sql : skipping) {
      SCOPED_TRACE(sql);
      (void)plain_.tryExec(sql);
      EXPECT_EQ(plain_.number("SELECT ticket FROM tenure_fence_guard"), 0);
      EXPECT_TRUE(refuses("UPDATE jobs SET state = 'lost' WHERE id = 1", "must set token"));
      EXPECT_TRUE(refuses("UPDATE OR IGNORE jobs SET state = 'lost' WHERE id = 2", "must set token"));
      EXPECT_TRUE(accepts("UPDATE jobs SET token = 5"));
    }
  }
}

/// The triggers fire in an order that SQLite keeps, but does not promise. In another one they would refuse everything.
TEST_F(SqliteFenceSqlTest, theTriggersWorkAfterWhateverRewritesTheSchema) {
  protect({.table = "jobs", .lease = "billing"}, "token");
  for (const char* sql : {"VACUUM", "ALTER TABLE jobs RENAME TO work; ALTER TABLE work RENAME TO jobs",
                          "ALTER TABLE jobs ADD COLUMN more; ALTER TABLE jobs DROP COLUMN more", "REINDEX"}) {
    SCOPED_TRACE(sql);
    database_.exec(sql);
    EXPECT_TRUE(accepts("UPDATE jobs SET state = 'busy', token = 5"));
    EXPECT_TRUE(refuses("UPDATE jobs SET state = 'lost'", "must set token"));
    EXPECT_EQ(test::TestDatabase{file_}.tryExec("UPDATE jobs SET token = 5"), SQLITE_OK) << "read anew";
  }
}

TEST_F(SqliteFenceSqlTest, foreignKeysThatChangeAFencedTableAreRefused) {
  for (const char* action : {"CASCADE", "SET NULL", "SET DEFAULT"}) {
    SCOPED_TRACE(action);
    database_.exec(
        "DROP TABLE IF EXISTS part; DROP TABLE IF EXISTS whole; CREATE TABLE whole(id INTEGER PRIMARY KEY);"
        "CREATE TABLE part(id INTEGER PRIMARY KEY, token INTEGER, whole REFERENCES whole ON DELETE " +
        std::string{action} + " ON UPDATE " + action + ") WITHOUT ROWID");
    protect({.table = "part", .lease = "billing"}, "token");
    EXPECT_TRUE(accepts("PRAGMA foreign_keys = ON; INSERT INTO whole VALUES(1); INSERT INTO part VALUES(1, 5, 1)"));
    EXPECT_TRUE(refuses("DELETE FROM whole", "part is fenced by lease billing"));
    EXPECT_TRUE(refuses("UPDATE whole SET id = 2", "part is fenced by lease billing"));
  }
}

TEST_F(SqliteFenceSqlTest, aTicketThatAnOlderReleaseLeftIsTakenAway) {
  protect({.table = "jobs", .lease = "billing"}, "token");
  database_.exec("UPDATE tenure_fence_guard SET ticket = 2");
  EXPECT_TRUE(refuses("UPDATE jobs SET state = 'lost'", "must set token"));
  protect({.table = "jobs", .lease = "billing"}, "token");
  EXPECT_EQ(plain_.number("SELECT ticket FROM tenure_fence_guard"), 0);
}

TEST_F(SqliteFenceSqlTest, withRecursiveTriggersNothingChanges) {
  plain_.exec("PRAGMA recursive_triggers = ON");
  protect({.table = "jobs", .lease = "billing"}, "token");
  EXPECT_TRUE(accepts("UPDATE jobs SET state = 'busy', token = 5"));
  EXPECT_TRUE(refuses("UPDATE jobs SET state = 'lost'", "must set token"));
  EXPECT_TRUE(refuses("INSERT OR REPLACE INTO jobs VALUES(1, 'new', 6)", "delete inside SqliteFence::write"));
}

TEST_F(SqliteFenceSqlTest, aDeletedGuardRowClosesTheTable) {
  protect({.table = "jobs", .lease = "billing"}, "token");
  database_.exec("DELETE FROM tenure_fence_guard");
  EXPECT_TRUE(refuses("INSERT INTO jobs VALUES(3, 'new', 99)", "stale fencing token"));
  EXPECT_TRUE(refuses("UPDATE jobs SET state = 'done', token = 99", "stale fencing token"));
  EXPECT_TRUE(refuses("DELETE FROM jobs", "delete inside"));
}

TEST_F(SqliteFenceSqlTest, mayBeRunAgainAndForOddNames) {
  const FencedTable odd{.table = "it's \"odd\"; DROP TABLE jobs; --", .lease = "le'ase\""};
  const std::string column = "to{ken} \"x\"";
  database_.exec(
      R"(CREATE TABLE "it's ""odd""; DROP TABLE jobs; --"(id INTEGER PRIMARY KEY, "to{ken} ""x""" INTEGER))");
  protect(odd, column);
  protect(odd);
  protect(odd, column);
  const std::string insert = R"(INSERT INTO "it's ""odd""; DROP TABLE jobs; --" VALUES)";
  EXPECT_TRUE(accepts(insert + "(1, 5)"));
  EXPECT_TRUE(refuses(insert + "(2, 4)", "stale fencing token"));
  EXPECT_EQ(content(), "1new- 2new-");
}

TEST_F(SqliteFenceSqlTest, refusesNamesThatAreNone) {
  EXPECT_THROW((void)sqliteFenceSql({.table = "", .lease = "billing"}), std::invalid_argument);
  EXPECT_THROW((void)sqliteFenceSql({.table = "jobs", .lease = ""}), std::invalid_argument);
  EXPECT_THROW((void)sqliteFenceSql({.table = "jobs", .lease = "bill\u200bing"}), std::invalid_argument)
      << "no elector has a lease of this name";
  EXPECT_THROW((void)sqliteFenceSql({.table = std::string{"jo\0bs", 5}, .lease = "billing"}), std::invalid_argument);
  EXPECT_THROW((void)sqliteFenceSql({.table = "jobs", .lease = "b"}, "\xFF"), std::invalid_argument);
}

}  // namespace
}  // namespace tenure
