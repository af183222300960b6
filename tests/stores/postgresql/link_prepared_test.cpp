// Which statements the server's side of a connection keeps prepared, and what becomes of those that it has lost.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "lockcore/stores/postgresql/src/link/job_account.hpp"
#include "stores/postgresql/link_support.hpp"
#include "stores/postgresql/own_server.hpp"

#include <libpq-fe.h>

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using postgresql_store::Job;
using postgresql_store::JobReply;
using postgresql_store::StatementId;
using Commit = JobReply::Commit;

/// Jobs of one connection, because each waits for the one before it.
class PostgresqlPrepared : public testing::Test {
 protected:
  [[nodiscard]] JobReply read(TestLink& link) const { return link.call({.statements = {{read_, {"1"}}}}); }
  [[nodiscard]] JobReply read() { return read(link_); }
  [[nodiscard]] std::string prepared() { return link_.value(prepared_); }

  NumberTable table_{};
  TestLink link_{};
  const StatementId read_ = link_.add("SELECT n FROM " + table_.name() + " WHERE id = $1");
  const StatementId prepared_ =
      link_.add("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%" + table_.name() + "%'");
  const StatementId forget_ = link_.add("DEALLOCATE ALL");
  const StatementId parsed_ = link_.add("SELECT $1::int");
};

TEST_F(PostgresqlPrepared, AStatementWithValuesIsPreparedOnceOnAConnection) {
  EXPECT_EQ(prepared(), "0");
  for (int times = 0; times < 3; ++times) {
    ASSERT_EQ(read().commit, Commit::done);
    EXPECT_EQ(prepared(), "1");
  }
}

TEST_F(PostgresqlPrepared, WhatAFailedJobHasPreparedIsUsedByTheNext) {
  EXPECT_EQ(prepared(), "0");
  const JobReply failed = link_.call({.statements = {{read_, {"1"}}, {parsed_, {"no number"}}}});
  EXPECT_EQ(failed.commit, Commit::rolledBack);
  EXPECT_EQ(read().commit, Commit::done);
  EXPECT_EQ(prepared(), "1");
}

TEST_F(PostgresqlPrepared, WhatTheServerHasLostFailsOnceAndIsNotUsedAgain) {
  EXPECT_EQ(prepared(), "0");
  ASSERT_EQ(read().commit, Commit::done);
  ASSERT_EQ(link_.call({.statements = {{forget_}}}).commit, Commit::done);
  const JobReply lost = read();
  EXPECT_EQ(lost.commit, Commit::rolledBack) << toString(lost);
  EXPECT_EQ(lost.error->sqlState, "26000");
  for (int times = 0; times < 2; ++times) {
    const JobReply again = read();
    EXPECT_EQ(again.commit, Commit::done) << toString(again);
    EXPECT_EQ(prepared(), "0");
  }
}

TEST_F(PostgresqlPrepared, AnAlteredTableIsNotTakenForAMissingFunction) {
  EXPECT_EQ(prepared(), "0");
  ASSERT_EQ(read().commit, Commit::done);
  table_.sql().exec("ALTER TABLE " + table_.name() + " ALTER n TYPE text");
  const JobReply altered = read();
  EXPECT_EQ(altered.commit, Commit::rolledBack);
  EXPECT_EQ(altered.error->sqlState, "26000") << toString(altered);
  EXPECT_EQ(read().commit, Commit::done);
}

using postgresql_store::JobAccount;
using postgresql_store::Message;
using postgresql_store::PreparedStatements;

/// What one job answers whose settings came from this process of the server.
JobAccount answeredBy(const char* process) {
  JobAccount account{{{Message::Part::settings, "SELECT pg_backend_pid()"}, {Message::Part::commit, "COMMIT"}}};
  const std::unique_ptr<PGresult, decltype(&PQclear)> result{PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK), PQclear};
  std::string column = "pid", text = process;
  PGresAttDesc description{column.data(), 0, 0, 0, 23, 4, -1};
  PQsetResultAttrs(result.get(), 1, &description);
  PQsetvalue(result.get(), 0, 0, text.data(), static_cast<int>(text.size()));
  account.take(*result);
  return account;
}

std::string nameIn(PreparedStatements& statements, std::string_view sql) {
  static const std::vector<postgresql_store::Value> values{"1"};
  return statements.in({{Message::Part::statement, sql, &values}}).back().name;
}

/// Behind a pooler the process of the server may be one on which another client, of another table, has prepared.
TEST(PreparedStatements, ANameSaysAllOfItsText) {
  PreparedStatements one, other;
  one.learn(answeredBy("42"), 42);
  other.learn(answeredBy("43"), 43);
  const std::string name = nameIn(one, "SELECT 1 FROM leases1 WHERE key = $1");
  EXPECT_EQ(name.size(), std::string_view{"tenure_"}.size() + 32);
  EXPECT_NE(nameIn(other, "SELECT 1 FROM leases2 WHERE key = $1"), name);
  EXPECT_EQ(nameIn(other, "SELECT 1 FROM leases1 WHERE key = $1"), name);
}

TEST(PreparedStatements, NothingIsPreparedOnceAnotherProcessHasAnswered) {
  PreparedStatements statements;
  statements.learn(answeredBy("42"), 42);
  EXPECT_NE(nameIn(statements, "SELECT $1"), "");
  statements.learn(answeredBy("43"), 42);
  EXPECT_EQ(nameIn(statements, "SELECT $1"), "");
  statements.learn(answeredBy("42"), 42);
  EXPECT_EQ(nameIn(statements, "SELECT $1"), "");
}

/// A pooler may name no process, and a job may fail before its settings are answered.
TEST(PreparedStatements, AProcessThatIsNotNamedIsNotTheSame) {
  PreparedStatements statements;
  statements.learn(answeredBy("0"), 0);
  EXPECT_EQ(nameIn(statements, "SELECT $1"), "");
  statements.learn(answeredBy("42"), 42);
  EXPECT_NE(nameIn(statements, "SELECT $1"), "");
}

TEST(PostgresqlPooled, BehindAPoolerNothingIsPrepared) {
  const OwnServer server;
  const OwnPooler pooler{server.directory(), server.port()};
  const NumberTable table{server.connection()};
  TestLink link{pooler.connection()};
  const StatementId read = link.add("SELECT n FROM " + table.name() + " WHERE id = $1");
  const StatementId prepared = link.add("SELECT count(*) FROM pg_prepared_statements");
  for (int times = 0; times < 3; ++times) {
    EXPECT_EQ(link.call({.statements = {{read, {"1"}}}}).commit, Commit::done);
    EXPECT_EQ(link.value(prepared), "0");
  }
}

TEST(PostgresqlWarm, TheConnectionOfAWatcherHasTheStatementsOfAHandOverPrepared) {
  constexpr auto first = static_cast<StatementId>(0);
  TestLink link{{.connection = sharedServer()}, net::systemLookup, {.statements = {{first, {"1"}}}}};
  ASSERT_EQ(link.add("SELECT $1::int + 0"), first);
  const StatementId prepared = link.add("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%int + 0%'");
  EXPECT_EQ(link.value(prepared), "0");
  const auto watching = link.link().watch("payload", [] {});
  EXPECT_TRUE(eventually([&] { return link.value(prepared) == "1"; }));
}

}  // namespace
}  // namespace tenure::test
