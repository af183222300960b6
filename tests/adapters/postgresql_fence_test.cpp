// What the fence's contract does not define for PostgreSQL: the caller's transactions, SQLSTATEs, locks and time
// limits.
#include <optional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <tenure/adapters/postgresql_fence.hpp>

#include "adapters/postgresql_database.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

TermStamp stamp(std::uint64_t token, std::string holder = "a#1", std::string lease = "billing") {
  return {std::move(lease), FencingToken{token}, std::move(holder)};
}

class PostgresqlFenceTest : public testing::Test {
 protected:
  PostgresqlFenceTest() {
    database_.exec(
        "CREATE TABLE ledger(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, entry text UNIQUE NOT NULL)");
    fence_.emplace(open(database_));
  }

  static PostgresqlFence open(const test::PostgresqlConnection& database, PostgresqlFenceOptions options = {}) {
    return PostgresqlFence::open(database.raw(), std::move(options)).value();
  }
  static PostgresqlResult add(PGconn* connection, const std::string& entry) {
    return PostgresqlResult{PQexec(connection, ("INSERT INTO ledger(entry) VALUES('" + entry + "')").c_str())};
  }
  [[nodiscard]] FenceResult<void> write(const TermStamp& term, const std::string& entry) {
    return fence_->write(term, [&](PGconn* connection) { return add(connection, entry); });
  }
  [[nodiscard]] std::string ledger() const {
    return observer_.text("SELECT coalesce(string_agg(entry, ' ' ORDER BY id), '') FROM ledger");
  }
  [[nodiscard]] bool idle() const { return PQtransactionStatus(database_.raw()) == PQTRANS_IDLE; }

  const test::PostgresqlSchema schema_;
  const test::PostgresqlConnection database_{schema_.name()};
  const test::PostgresqlConnection observer_{schema_.name()};
  std::optional<PostgresqlFence> fence_;
};

WriteError errorOf(const FenceResult<void>& result) {
  const FenceError error = result.error();
  return error.writeError() != nullptr ? *error.writeError() : WriteError{{ErrorClass::corrupt, "no error"}, true};
}

TEST_F(PostgresqlFenceTest, refusesBeforeTheWorkRunsAndLeavesNoTransactionOpen) {
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  bool ran = false;
  EXPECT_TRUE(fence_->write(stamp(4), [&](PGconn*) { ran = true; }).has_error());
  EXPECT_FALSE(ran);
  EXPECT_TRUE(idle());
}

TEST_F(PostgresqlFenceTest, rollsBackAFailedWorkWithItsToken) {
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  const auto failed = fence_->write(stamp(6), [](PGconn* connection) {
    (void)add(connection, "two");
    return add(connection, "one");  // not unique
  });
  ASSERT_TRUE(failed.has_error());
  EXPECT_EQ(errorOf(failed).error.errorClass, ErrorClass::misconfigured);
  EXPECT_FALSE(errorOf(failed).mayBeWritten);
  EXPECT_NE(failed.error().message.find("SQLSTATE 23505"), std::string::npos) << failed.error().message;
  EXPECT_NE(failed.error().message.find("PostgreSQL database postgres"), std::string::npos) << failed.error().message;
  EXPECT_EQ(ledger(), "one");
  EXPECT_EQ(fence_->highestSeen("billing").value(), stamp(5));
  EXPECT_TRUE(write(stamp(5), "three").has_value());
}

TEST_F(PostgresqlFenceTest, rollsBackAndPassesAnExceptionOn) {
  EXPECT_THROW((void)fence_->write(stamp(6),
                                   [](PGconn* connection) {
                                     (void)add(connection, "one");
                                     throw std::runtime_error{"the work failed"};
                                   }),
               std::runtime_error);
  EXPECT_EQ(ledger(), "");
  EXPECT_EQ(fence_->highestSeen("billing").value(), std::nullopt);
  EXPECT_TRUE(idle());
}

TEST_F(PostgresqlFenceTest, findsOutAFailureThatTheWorkDoesNotTell) {
  const auto hidden = fence_->write(stamp(5), [](PGconn* connection) { (void)PQclear(PQexec(connection, "SELEKT")); });
  ASSERT_TRUE(hidden.has_error());
  EXPECT_NE(hidden.error().message.find("let the work return its PostgresqlResult"), std::string::npos)
      << hidden.error().message;
  const auto unwanted =
      fence_->write(stamp(5), [](PGconn* connection) { return add(connection, "one").get() == nullptr; });
  ASSERT_TRUE(unwanted.has_error());
  EXPECT_EQ(ledger(), "");
  EXPECT_EQ(fence_->highestSeen("billing").value(), std::nullopt);
  EXPECT_TRUE(write(stamp(5), "two").has_value());
}

TEST_F(PostgresqlFenceTest, reportsAWorkThatEndsTheTransaction) {
  for (const char* end : {"COMMIT", "COMMIT; BEGIN", "ROLLBACK", "ROLLBACK; BEGIN"}) {
    const auto ended = fence_->write(stamp(5), [&](PGconn* connection) { PQclear(PQexec(connection, end)); });
    ASSERT_TRUE(ended.has_error()) << end;
    EXPECT_TRUE(errorOf(ended).mayBeWritten) << end;
    EXPECT_NE(ended.error().message.find("take COMMIT and ROLLBACK out"), std::string::npos) << ended.error().message;
    EXPECT_TRUE(idle()) << end;
  }
}

TEST_F(PostgresqlFenceTest, joinsATransactionOfTheCallers) {
  database_.exec("BEGIN");
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  EXPECT_EQ(ledger(), "") << "not before the caller commits";
  database_.exec("COMMIT");
  EXPECT_EQ(ledger(), "one");
  database_.exec("BEGIN");
  EXPECT_TRUE(write(stamp(6), "two").has_value());
  database_.exec("ROLLBACK");
  EXPECT_EQ(fence_->highestSeen("billing").value(), stamp(5)) << "the token goes with the write";
  EXPECT_EQ(ledger(), "one");
}

TEST_F(PostgresqlFenceTest, leavesTheCallersTransactionAsItWasWhenItRefusesOrFails) {
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  database_.exec("BEGIN");
  (void)add(database_.raw(), "two");
  EXPECT_TRUE(write(stamp(4), "three").has_error());
  EXPECT_TRUE(write(stamp(5), "one").has_error()) << "not unique";
  database_.exec("COMMIT");
  EXPECT_EQ(ledger(), "one two");
}

TEST_F(PostgresqlFenceTest, writesOfOneTermDoNotWaitForEachOther) {
  const test::PostgresqlConnection second{schema_.name()};
  PostgresqlFence other = open(second, {.lockTimeout = 100ms});
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  const auto outer = fence_->write(stamp(5), [&](PGconn* connection) {
    EXPECT_TRUE(other.write(stamp(5), [](PGconn* inner) { return add(inner, "two"); }).has_value());
    return add(connection, "three");
  });
  EXPECT_TRUE(outer.has_value());
  EXPECT_EQ(ledger(), "one two three");
}

TEST_F(PostgresqlFenceTest, aLaterTermWaitsForWritesUnderWayNoLongerThanItsLockTimeout) {
  const test::PostgresqlConnection second{schema_.name()};
  PostgresqlFence successor = open(second, {.lockTimeout = 50ms});
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  const auto outer = fence_->write(stamp(5), [&](PGconn* connection) {
    const auto busy = successor.write(stamp(6, "b#2"), [](PGconn* inner) { return add(inner, "two"); });
    EXPECT_TRUE(busy.has_error());
    EXPECT_EQ(errorOf(busy).error.errorClass, ErrorClass::transient) << busy.error().message;
    EXPECT_FALSE(errorOf(busy).mayBeWritten);
    EXPECT_NE(busy.error().message.find("SQLSTATE 55P03"), std::string::npos) << busy.error().message;
    return add(connection, "three");
  });
  EXPECT_TRUE(outer.has_value());
  EXPECT_TRUE(successor.write(stamp(6, "b#2"), [](PGconn* inner) { return add(inner, "four"); }).has_value());
  EXPECT_EQ(ledger(), "one three four");
}

TEST_F(PostgresqlFenceTest, theServerLetsASuccessorPastAWriterThatStandsStill) {
  const test::PostgresqlConnection frozenConnection{schema_.name()};
  PostgresqlFence frozen = open(frozenConnection, {.frozenLimit = 100ms});
  fence_ = open(database_, {.lockTimeout = 60s});
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  const auto late = frozen.write(stamp(5), [&](PGconn* connection) {
    EXPECT_TRUE(write(stamp(6, "b#2"), "two").has_value()) << "while the first writer says nothing";
    return add(connection, "three");
  });
  ASSERT_TRUE(late.has_error());
  EXPECT_EQ(errorOf(late).error.errorClass, ErrorClass::transient) << late.error().message;
  EXPECT_FALSE(errorOf(late).mayBeWritten);
  EXPECT_EQ(ledger(), "one two");
  PQreset(frozenConnection.raw());
  frozenConnection.exec("SET search_path = " + schema_.name());
  const auto again = frozen.write(stamp(5), [](PGconn* connection) { return add(connection, "four"); });
  ASSERT_TRUE(again.has_error());
  EXPECT_NE(FenceError{again.error()}.stale(), nullptr) << again.error().message;
}

TEST_F(PostgresqlFenceTest, aSnapshotFromBeforeAChangeOfTermsIsNotAdmitted) {
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  const test::PostgresqlConnection second{schema_.name()};
  PostgresqlFence successor = open(second);
  for (const char* level : {"REPEATABLE READ", "SERIALIZABLE"}) {
    const auto seen = fence_->highestSeen("billing").value()->token;
    database_.exec("BEGIN ISOLATION LEVEL " + std::string{level});
    EXPECT_EQ(database_.text("SELECT count(*) >= 1 FROM ledger"), "t");
    const auto later =
        successor.write(stamp(seen.value() + 1, "b#2"), [&](PGconn* connection) { return add(connection, level); });
    EXPECT_TRUE(later.has_value());
    const auto old = write(stamp(seen.value()), "stale");
    ASSERT_TRUE(old.has_error());
    EXPECT_EQ(errorOf(old).error.errorClass, ErrorClass::transient) << old.error().message;
    EXPECT_NE(old.error().message.find("SQLSTATE 40001"), std::string::npos) << old.error().message;
    database_.exec("ROLLBACK");
  }
  EXPECT_EQ(ledger(), "one REPEATABLE READ SERIALIZABLE");
}

TEST_F(PostgresqlFenceTest, aLostConnectionIsATransientErrorAndNothingWasWritten) {
  const std::string pid = database_.text("SELECT pg_backend_pid()");
  const auto lost = fence_->write(stamp(5), [&](PGconn* connection) {
    observer_.exec("SELECT pg_terminate_backend(" + pid + ")");
    return add(connection, "one");
  });
  ASSERT_TRUE(lost.has_error());
  EXPECT_EQ(errorOf(lost).error.errorClass, ErrorClass::transient) << lost.error().message;
  EXPECT_FALSE(errorOf(lost).mayBeWritten);
  const auto gone = write(stamp(5), "two");
  ASSERT_TRUE(gone.has_error());
  EXPECT_NE(gone.error().message.find("PQreset"), std::string::npos) << gone.error().message;
  EXPECT_EQ(ledger(), "");
}

TEST_F(PostgresqlFenceTest, aConnectionLostInTheCommitLeavesTheWriteOpen) {
  const std::string pid = database_.text("SELECT pg_backend_pid()");
  const auto lost = fence_->write(stamp(5), [&](PGconn* connection) {
    PostgresqlResult done = add(connection, "one");
    observer_.exec("SELECT pg_terminate_backend(" + pid + ", 30000)");
    return done;
  });
  ASSERT_TRUE(lost.has_error());
  EXPECT_EQ(errorOf(lost).error.errorClass, ErrorClass::transient) << lost.error().message;
  EXPECT_TRUE(errorOf(lost).mayBeWritten) << "the client cannot know whether the COMMIT got through";
}

TEST_F(PostgresqlFenceTest, opensOutsideOfTransactionsAndInUtf8Only) {
  database_.exec("BEGIN");
  EXPECT_TRUE(PostgresqlFence::open(database_.raw()).has_error());
  EXPECT_TRUE(PostgresqlFence::open(database_.raw(), {.schema = schema_.name()}).has_error());
  database_.exec("ROLLBACK");
  database_.exec("SET client_encoding = LATIN1");
  const auto latin = PostgresqlFence::open(database_.raw());
  ASSERT_TRUE(latin.has_error());
  EXPECT_NE(latin.error().message.find("client_encoding is LATIN1"), std::string::npos) << latin.error().message;
  database_.exec("SET client_encoding = UTF8; SET search_path = no_such_schema");
  EXPECT_TRUE(PostgresqlFence::open(database_.raw()).has_error());
  EXPECT_TRUE(PostgresqlFence::open(database_.raw(), {.schema = schema_.name()}).has_value());
}

TEST_F(PostgresqlFenceTest, worksForARoleThatMayOnlyUseTheTable) {
  const std::string role = "r" + schema_.name();
  database_.exec("CREATE ROLE " + role + "; GRANT USAGE ON SCHEMA " + schema_.name() + " TO " + role +
                 "; GRANT INSERT ON ledger TO " + role + "; SET ROLE " + role);
  const auto refused = PostgresqlFence::open(database_.raw());
  EXPECT_TRUE(refused.has_error());
  if (refused.has_error()) {
    EXPECT_EQ(FenceError{refused.error()}.writeError()->error.errorClass, ErrorClass::credentials);
    EXPECT_NE(refused.error().message.find("grant SELECT, INSERT and UPDATE"), std::string::npos)
        << refused.error().message;
  }
  database_.exec("RESET ROLE; GRANT SELECT, INSERT, UPDATE ON tenure_fence_guard TO " + role + "; SET ROLE " + role);
  fence_ = open(database_);
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  EXPECT_TRUE(write(stamp(4), "two").has_error());
  database_.exec("RESET ROLE; DROP OWNED BY " + role + "; DROP ROLE " + role);
}

TEST_F(PostgresqlFenceTest, theGuardNeverGoesDownNotEvenByHand) {
  EXPECT_TRUE(write(stamp(5), "one").has_value());
  EXPECT_EQ(database_.tryExec("UPDATE tenure_fence_guard SET token = 4"), "23514");
  EXPECT_EQ(fence_->highestSeen("billing").value(), stamp(5));
}

TEST_F(PostgresqlFenceTest, aFencedWriteIsNotBegunInAFailedTransaction) {
  EXPECT_EQ(database_.tryExec("BEGIN; SELECT 1/0"), "22012");
  const auto refused = write(stamp(5), "one");
  ASSERT_TRUE(refused.has_error());
  EXPECT_NE(refused.error().message.find("roll it back first"), std::string::npos) << refused.error().message;
  database_.exec("ROLLBACK");
}

}  // namespace
}  // namespace tenure
