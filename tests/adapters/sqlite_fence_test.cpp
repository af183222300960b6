#include <future>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <tenure/adapters/sqlite_fence.hpp>
#include <tenure/lockcore/clock.hpp>

#include "adapters/test_database.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

TermStamp stamp(std::uint64_t token, std::string holder = "a#1", std::string lease = "billing") {
  return {std::move(lease), FencingToken{token}, std::move(holder)};
}

/// Each test runs with both kinds of journal: they lock differently.
class SqliteFenceTest : public testing::TestWithParam<const char*> {
 protected:
  SqliteFenceTest() {
    database_.exec(std::string{"PRAGMA journal_mode = "} + GetParam());
    database_.exec("CREATE TABLE ledger(id INTEGER PRIMARY KEY, entry TEXT UNIQUE)");
    fence_.emplace(SqliteFence::open(database_.raw(), {.busyTimeout = 20ms}).value());
  }

  [[nodiscard]] auto add(const std::string& entry) const {
    return [entry](sqlite3* database) {
      return sqlite3_exec(database, ("INSERT INTO ledger(entry) VALUES('" + entry + "')").c_str(), nullptr, nullptr,
                          nullptr);
    };
  }
  [[nodiscard]] FenceResult<void> write(const TermStamp& term, const std::string& entry) {
    return fence_->write(term, add(entry));
  }
  [[nodiscard]] std::string ledger() const {
    return observer_.text("SELECT coalesce(group_concat(entry, ' '), '') FROM (SELECT entry FROM ledger ORDER BY id)");
  }
  [[nodiscard]] std::int64_t tickets() const {
    return observer_.number("SELECT count(*) FROM tenure_fence_guard WHERE ticket <> 0");
  }

  const test::TempDir directory_;
  const std::string file_ = directory_.file("user.db");
  const test::TestDatabase database_{file_};
  const test::TestDatabase observer_{file_};
  std::optional<SqliteFence> fence_;
};

INSTANTIATE_TEST_SUITE_P(Journal, SqliteFenceTest, testing::Values("WAL", "DELETE"),
                         [](const auto& journal) { return std::string{journal.param}; });

TEST_P(SqliteFenceTest, admitsTheFirstWriteAndRemembersItsTerm) {
  EXPECT_EQ(fence_->highestSeen("billing").value(), std::nullopt);
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  EXPECT_EQ(ledger(), "one");
  EXPECT_EQ(fence_->highestSeen("billing").value(), stamp(5));
}

TEST(SqliteFenceEncoding, aDatabaseOfUtf16RemembersTheHolder) {
  const test::TempDir directory;
  const test::TestDatabase database{directory.file("user.db")};
  database.exec("PRAGMA encoding = 'UTF-16'");
  SqliteFence fence = SqliteFence::open(database.raw(), {}).value();
  ASSERT_EQ(database.text("PRAGMA encoding").substr(0, 6), "UTF-16");
  for (int write = 0; write < 2; ++write) {
    EXPECT_TRUE(fence.write(stamp(5), [](sqlite3*) {}).has_value()) << "taken for a term of another holder";
    EXPECT_EQ(fence.highestSeen("billing").value(), stamp(5));
  }
}

TEST_P(SqliteFenceTest, admitsMoreWritesOfOneTermAndLaterTerms) {
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  EXPECT_TRUE(write(stamp(5), "two").has_value());
  EXPECT_TRUE(write(stamp(9, "b#2"), "three").has_value());
  EXPECT_EQ(ledger(), "one two three");
  EXPECT_EQ(fence_->highestSeen("billing").value(), stamp(9, "b#2"));
}

TEST_P(SqliteFenceTest, refusesALowerTokenBeforeTheWorkRuns) {
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  bool ran = false;
  const auto refused = fence_->write(stamp(4, "b#2"), [&](sqlite3*) { ran = true; });
  ASSERT_TRUE(refused.has_error());
  ASSERT_NE(refused.error().stale(), nullptr) << refused.error().message;
  EXPECT_EQ(*refused.error().stale(), (StaleToken{FencingToken{4}, FencingToken{5}}));
  EXPECT_FALSE(ran);
  EXPECT_EQ(ledger(), "one");
  EXPECT_FALSE(sqlite3_get_autocommit(database_.raw()) == 0) << "the transaction was left open";
}

TEST_P(SqliteFenceTest, refusesTheSameTokenOfAnotherHolder) {
  EXPECT_TRUE(write(stamp(5, "a#1"), "one").has_value());
  const auto refused = write(stamp(5, "a#2"), "two");
  ASSERT_TRUE(refused.has_error());
  ASSERT_NE(refused.error().foreign(), nullptr) << refused.error().message;
  EXPECT_EQ(*refused.error().foreign(), (ForeignTerm{FencingToken{5}, "a#1"}));
  EXPECT_EQ(ledger(), "one");
}

TEST_P(SqliteFenceTest, keepsLeasesApart) {
  const std::string odd = "it's \"odd\"; DROP TABLE ledger; -- 😀\n";
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  EXPECT_TRUE(write(stamp(2, "b#2", odd), "two").has_value());
  EXPECT_TRUE(write(stamp(1, "b#2", "Billing"), "three").has_value());
  EXPECT_EQ(fence_->highestSeen(odd).value(), stamp(2, "b#2", odd));
  EXPECT_TRUE(write(stamp(1, "b#2", odd), "four").has_error());
  EXPECT_EQ(ledger(), "one two three");
}

TEST_P(SqliteFenceTest, remembersAcrossConnectionsAndFences) {
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  fence_.reset();
  const test::TestDatabase later{file_};
  SqliteFence fence = SqliteFence::open(later.raw()).value();
  const auto refused = fence.write(stamp(4), add("two"));
  ASSERT_TRUE(refused.has_error());
  EXPECT_NE(refused.error().stale(), nullptr);
}

TEST_P(SqliteFenceTest, rollsBackAFailedWorkWithItsToken) {
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  const auto failed = fence_->write(stamp(6), [&](sqlite3* database) {
    (void)add("two")(database);
    return add("one")(database);  // not unique
  });
  ASSERT_TRUE(failed.has_error());
  ASSERT_NE(failed.error().writeError(), nullptr);
  EXPECT_FALSE(failed.error().writeError()->mayBeWritten);
  EXPECT_NE(failed.error().message.find("UNIQUE constraint failed: ledger.entry"), std::string::npos)
      << failed.error().message;
  EXPECT_NE(failed.error().message.find(file_), std::string::npos) << failed.error().message;
  EXPECT_EQ(ledger(), "one");
  EXPECT_EQ(fence_->highestSeen("billing").value(), stamp(5));
  EXPECT_TRUE(write(stamp(5), "three").has_value());
}

TEST_P(SqliteFenceTest, rollsBackAndPassesAnExceptionOn) {
  EXPECT_THROW((void)fence_->write(stamp(6),
                                   [&](sqlite3* database) {
                                     (void)add("one")(database);
                                     throw std::runtime_error{"the work failed"};
                                   }),
               std::runtime_error);
  EXPECT_EQ(ledger(), "");
  EXPECT_EQ(fence_->highestSeen("billing").value(), std::nullopt);
  EXPECT_TRUE(write(stamp(5), "two").has_value());
}

TEST_P(SqliteFenceTest, takesTheCodesOfAStepAsSuccess) {
  for (const int code : {SQLITE_OK, SQLITE_ROW, SQLITE_DONE}) {
    EXPECT_TRUE(fence_->write(stamp(5), [&](sqlite3*) { return code; }).has_value()) << code;
  }
  const auto failed = fence_->write(stamp(5), [](sqlite3*) { return SQLITE_NOMEM; });
  ASSERT_TRUE(failed.has_error());
  EXPECT_EQ(failed.error().writeError()->error.errorClass, ErrorClass::transient);
  EXPECT_NE(failed.error().message.find("out of memory"), std::string::npos) << failed.error().message;
}

TEST_P(SqliteFenceTest, refusesStampsThatAreNone) {
  for (const TermStamp& bad : {stamp(0), stamp(1, ""), stamp(1, "a", "")}) {
    const auto refused = write(bad, "one");
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().writeError()->error.errorClass, ErrorClass::misconfigured);
  }
  EXPECT_EQ(ledger(), "");
}

TEST_P(SqliteFenceTest, joinsATransactionOfTheCallers) {
  database_.exec("BEGIN");
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  EXPECT_EQ(ledger(), "") << "not before the caller commits";
  database_.exec("COMMIT");
  EXPECT_EQ(ledger(), "one");
  database_.exec("BEGIN");
  EXPECT_TRUE(write(stamp(6), "two").has_value());
  database_.exec("ROLLBACK");
  EXPECT_EQ(ledger(), "one");
  EXPECT_EQ(fence_->highestSeen("billing").value(), stamp(5)) << "the token goes with the write";
  EXPECT_EQ(tickets(), 0);
}

TEST_P(SqliteFenceTest, leavesTheCallersTransactionAsItWasWhenItRefusesOrFails) {
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  database_.exec("BEGIN");
  EXPECT_EQ(add("two")(database_.raw()), SQLITE_OK);
  EXPECT_TRUE(write(stamp(4), "three").has_error());
  EXPECT_TRUE(write(stamp(5), "one").has_error()) << "not unique";
  EXPECT_THROW((void)fence_->write(stamp(7), [](sqlite3*) { throw std::runtime_error{"no"}; }), std::runtime_error);
  database_.exec("COMMIT");
  EXPECT_EQ(ledger(), "one two");
  EXPECT_EQ(fence_->highestSeen("billing").value(), stamp(5));
}

TEST_P(SqliteFenceTest, aTransactionThatReadBeforeOthersWroteIsNotAdmitted) {
  SqliteFence successor = SqliteFence::open(observer_.raw(), {.busyTimeout = 20ms}).value();
  fence_ = SqliteFence::open(database_.raw(), {.busyTimeout = 60s}).value();
  database_.exec("BEGIN");
  EXPECT_EQ(database_.number("SELECT count(*) FROM ledger"), 0);
  const bool othersCanWrite = successor.write(stamp(6, "b#2"), add("two")).has_value();
  EXPECT_EQ(othersCanWrite, std::string{GetParam()} == "WAL") << "elsewhere a reader keeps them out";
  const Instant start = readClock();
  const auto written = write(stamp(5), "one");
  EXPECT_LT(elapsedForChallenger(start, readClock()), 30s) << "waiting does not make an old snapshot new";
  EXPECT_EQ(written.has_error(), othersCanWrite);
  if (written.has_error()) {
    EXPECT_NE(written.error().message.find("roll it back and start again"), std::string::npos)
        << written.error().message;
  }
  database_.exec("COMMIT");
  EXPECT_EQ(ledger(), othersCanWrite ? "two" : "one");
}

TEST_P(SqliteFenceTest, aFencedWriteMayHoldAnother) {
  const auto outer = fence_->write(stamp(5), [&](sqlite3* database) {
    EXPECT_TRUE(write(stamp(3, "c#3", "other"), "one").has_value());
    EXPECT_TRUE(write(stamp(5), "two").has_value());
    EXPECT_TRUE(write(stamp(4), "never").has_error());
    return add("three")(database);
  });
  EXPECT_TRUE(outer.has_value());
  EXPECT_EQ(ledger(), "one two three");
  EXPECT_EQ(tickets(), 0);
}

TEST_P(SqliteFenceTest, reportsAWorkThatEndsTheTransaction) {
  const auto committed = fence_->write(stamp(5), [&](sqlite3* database) {
    (void)add("one")(database);
    return sqlite3_exec(database, "COMMIT", nullptr, nullptr, nullptr);
  });
  const auto restarted = fence_->write(
      stamp(5), [&](sqlite3* database) { return sqlite3_exec(database, "COMMIT; BEGIN", nullptr, nullptr, nullptr); });
  const auto rolledBack = fence_->write(
      stamp(5), [&](sqlite3* database) { return sqlite3_exec(database, "ROLLBACK", nullptr, nullptr, nullptr); });
  for (const auto& result : {committed, restarted, rolledBack}) {
    ASSERT_TRUE(result.has_error());
    ASSERT_NE(result.error().writeError(), nullptr);
    EXPECT_TRUE(result.error().writeError()->mayBeWritten);
    EXPECT_NE(result.error().message.find("take COMMIT and ROLLBACK out"), std::string::npos) << result.error().message;
  }
  EXPECT_EQ(tickets(), 0) << "the fence must not stay open";
  EXPECT_NE(sqlite3_get_autocommit(database_.raw()), 0);
  EXPECT_TRUE(write(stamp(5), "two").has_value());
}

/// INSERT ... RETURNING that has given its row and is neither reset nor finalized: SQLite commits nothing then.
TEST_P(SqliteFenceTest, refusesAWorkWhoseStatementIsStillInProgress) {
  sqlite3_stmt* statement = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(database_.raw(), "INSERT INTO ledger(entry) VALUES('x') RETURNING id", -1, &statement,
                               nullptr),
            SQLITE_OK);
  const auto refused = [&] {
    const auto outcome = fence_->write(stamp(5), [&](sqlite3*) { return sqlite3_step(statement); });
    ASSERT_FALSE(outcome.has_value());
    EXPECT_FALSE(outcome.error().writeError()->mayBeWritten);
    EXPECT_NE(outcome.error().message.find("still in progress; reset or finalize it"), std::string::npos)
        << outcome.error().message;
    EXPECT_EQ(fence_->highestSeen("billing").value(), std::nullopt);
  };
  refused();
  EXPECT_NE(sqlite3_get_autocommit(database_.raw()), 0);
  sqlite3_reset(statement);
  database_.exec("BEGIN");
  database_.exec("INSERT INTO ledger(entry) VALUES('mine')");
  refused();
  EXPECT_NE(sqlite3_exec(database_.raw(), "RELEASE tenure_fence", nullptr, nullptr, nullptr), SQLITE_OK);
  database_.exec("COMMIT");
  EXPECT_EQ(ledger(), "mine") << "the caller's transaction is as it was";
  sqlite3_finalize(statement);
}

TEST_P(SqliteFenceTest, aCommitThatAConstraintRefusesHasWrittenNothing) {
  database_.exec("PRAGMA foreign_keys = ON");
  database_.exec("CREATE TABLE line(ledger INTEGER REFERENCES ledger(id) DEFERRABLE INITIALLY DEFERRED)");
  const auto outcome = fence_->write(stamp(5), [](sqlite3* database) {
    return sqlite3_exec(database, "INSERT INTO line VALUES(7)", nullptr, nullptr, nullptr);
  });
  ASSERT_FALSE(outcome.has_value());
  EXPECT_FALSE(outcome.error().writeError()->mayBeWritten) << outcome.error().message;
  EXPECT_EQ(observer_.number("SELECT count(*) FROM line"), 0);
  EXPECT_EQ(fence_->highestSeen("billing").value(), std::nullopt);
}

TEST_P(SqliteFenceTest, reportsAnErrorAfterWhichSqliteItselfRolledBack) {
  database_.exec("CREATE TRIGGER no BEFORE INSERT ON ledger BEGIN SELECT RAISE(ROLLBACK, 'not today'); END");
  const auto failed = write(stamp(5), "one");
  ASSERT_TRUE(failed.has_error());
  ASSERT_NE(failed.error().writeError(), nullptr);
  EXPECT_FALSE(failed.error().writeError()->mayBeWritten);
  EXPECT_NE(failed.error().message.find("not today"), std::string::npos) << failed.error().message;
  EXPECT_EQ(fence_->highestSeen("billing").value(), std::nullopt);
}

TEST_P(SqliteFenceTest, waitsForOthersNoLongerThanItsBusyTimeout) {
  observer_.exec("BEGIN IMMEDIATE");
  const Instant start = readClock();
  const auto busy = write(stamp(5), "one");
  const auto waited = elapsedForHolder(start, readClock());
  ASSERT_TRUE(busy.has_error());
  ASSERT_NE(busy.error().writeError(), nullptr);
  EXPECT_EQ(busy.error().writeError()->error.errorClass, ErrorClass::transient);
  EXPECT_FALSE(busy.error().writeError()->mayBeWritten);
  EXPECT_NE(busy.error().message.find("busyTimeout of 20 ms"), std::string::npos) << busy.error().message;
  EXPECT_GE(waited, 20ms);
  EXPECT_LT(waited, 10s);
  observer_.exec("ROLLBACK");
  EXPECT_TRUE(write(stamp(5), "one").has_value());
}

TEST_P(SqliteFenceTest, waitsForOthersForTheLongestTimeThatThereIs) {
  fence_.emplace(SqliteFence::open(database_.raw(), {.busyTimeout = std::chrono::milliseconds::max()}).value());
  observer_.exec("BEGIN IMMEDIATE");
  auto written = std::async(std::launch::async, [&] { return write(stamp(5), "one"); });
  EXPECT_EQ(written.wait_for(50ms), std::future_status::timeout);
  observer_.exec("ROLLBACK");
  EXPECT_TRUE(written.get().has_value());
}

TEST_P(SqliteFenceTest, waitsForOthersInsideATransactionOfTheCallersToo) {
  observer_.exec("BEGIN IMMEDIATE");
  database_.exec("BEGIN");
  const Instant start = readClock();
  const auto busy = write(stamp(5), "one");
  EXPECT_GE(elapsedForHolder(start, readClock()), 20ms);
  ASSERT_TRUE(busy.has_error());
  EXPECT_NE(busy.error().message.find("busyTimeout of 20 ms"), std::string::npos) << busy.error().message;
  observer_.exec("ROLLBACK");
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  database_.exec("COMMIT");
  EXPECT_EQ(ledger(), "one");
}

TEST_P(SqliteFenceTest, aCommitThatMeetsAReaderWritesNothingOrAll) {
  const test::TestDatabase reader{file_};
  reader.exec("BEGIN");
  EXPECT_EQ(reader.number("SELECT count(*) FROM ledger"), 0);
  const auto met = write(stamp(5), "one");
  const bool wal = std::string{GetParam()} == "WAL";
  ASSERT_EQ(met.has_value(), wal);
  if (!wal) {
    EXPECT_FALSE(met.error().writeError()->mayBeWritten) << met.error().message;
  }
  reader.exec("COMMIT");
  EXPECT_EQ(ledger(), wal ? "one" : "");
  EXPECT_TRUE(write(stamp(5), "two").has_value());
}

TEST_P(SqliteFenceTest, opensOutsideOfTransactionsOnlyAndInPlacesItCanWrite) {
  database_.exec("BEGIN");
  EXPECT_TRUE(SqliteFence::open(database_.raw()).has_error());
  database_.exec("ROLLBACK");
  database_.exec("PRAGMA query_only = ON");
  const auto refused = SqliteFence::open(database_.raw());
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().writeError()->error.errorClass, ErrorClass::misconfigured) << refused.error().message;
}

TEST_P(SqliteFenceTest, theGuardNeverGoesDownNotEvenByHand) {
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  EXPECT_NE(database_.tryExec("UPDATE tenure_fence_guard SET token = 4"), SQLITE_OK);
  EXPECT_EQ(fence_->highestSeen("billing").value(), stamp(5));
}

}  // namespace
}  // namespace tenure
