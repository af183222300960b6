// Which answers a fence for PostgreSQL accepts as the server's, and which it does not: no server, scripted answers. One
// kind of request at a time is answered by a lie.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <tenure/adapters/postgresql_fence.hpp>

#include "adapters/postgresql_backend.hpp"

#include <libpq-fe.h>

namespace tenure {
namespace {

using test::PostgresqlAnswer;
using Reply = test::PostgresqlBackend::Reply;

const TermStamp stamp{"billing", FencingToken{5}, "a#1"};
const PostgresqlAnswer noRow{{"token", "holder"}, {}, "SELECT 0"};
const PostgresqlAnswer raised{{"token"}, {{"5"}}, "INSERT 0 1"};

enum class Step { check, look, begin, remember, work, end };

Step stepOf(const std::string& sql) {
  if (sql.starts_with("BEGIN READ ONLY")) return Step::check;
  if (sql.starts_with("BEGIN")) return Step::begin;
  if (sql.starts_with("INSERT INTO")) return Step::remember;
  if (sql.starts_with("RELEASE") || sql.starts_with("ROLLBACK")) return Step::end;
  return sql.starts_with("SELECT") ? Step::look : Step::work;
}

Reply honest(Step step) {
  switch (step) {
    case Step::check:  // there is a table, and nothing is wrong with it
      return {{{.tag = "BEGIN"}, {{"case"}, {{""}}, "SELECT 1"}, {.tag = "COMMIT"}}, 'I'};
    case Step::look:
      return {{noRow}, 'I'};
    case Step::begin:
      return {{{.tag = "BEGIN"}, {.tag = "SAVEPOINT"}, {.tag = "SET"}, noRow}};
    case Step::remember:
      return {{raised}};
    case Step::work:
      return {{{.tag = "UPDATE 1"}}};
    case Step::end:
      return {{{.tag = "RELEASE"}, {.tag = "COMMIT"}}, 'I'};
  }
  return {};
}

struct Finish {
  void operator()(pg_conn* connection) const noexcept { PQfinish(connection); }
};

/// A write through a server that answers one step with `lie`.
FenceResult<void> written(Step lied, const Reply& lie) {
  test::PostgresqlBackend backend{[&](const std::string& sql) {
    const Step step = stepOf(sql);
    return step == lied ? lie : honest(step);
  }};
  const std::unique_ptr<pg_conn, Finish> connection{PQconnectdb(backend.conninfo().c_str())};
  auto fence = PostgresqlFence::open(connection.get(), {.schema = "public"});
  if (!fence) return fence.error();
  return fence->write(stamp, [](pg_conn* of) { return PostgresqlResult{PQexec(of, "UPDATE ledger SET n = 1")}; });
}

TEST(PostgresqlAnswers, theServersOwnAnswersAreASuccess) {
  const auto result = written(Step::work, honest(Step::work));
  EXPECT_TRUE(result.has_value()) << (result ? "" : FenceError{result.error()}.message);
}

TEST(PostgresqlAnswers, thatTheTableIsAFencesIsBelievedOfRowsOnly) {
  const PostgresqlAnswer begun{.tag = "BEGIN"};
  const PostgresqlAnswer committed{.tag = "COMMIT"};
  for (const PostgresqlAnswer& lie :
       {PostgresqlAnswer{.tag = "SELECT 1"}, PostgresqlAnswer{{"a", "b"}, {{"", ""}}, "SELECT 1"},
        PostgresqlAnswer{{"fault"}, {{"has triggers"}}, "SELECT 1"}}) {
    EXPECT_TRUE(written(Step::check, {{begun, lie, committed}, 'I'}).has_error());
  }
  EXPECT_TRUE(written(Step::check, {{committed}, 'I'}).has_error());
}

TEST(PostgresqlAnswers, thatThereIsNoTokenIsBelievedOfRowsOnly) {
  for (const PostgresqlAnswer& lie : {PostgresqlAnswer{.tag = "SELECT 0"}, PostgresqlAnswer{{"n"}, {}, "SELECT 0"}}) {
    EXPECT_TRUE(written(Step::begin, {{lie}, 'T'}).has_error());
  }
}

TEST(PostgresqlAnswers, aTokenIsRememberedOnlyIfTheRowComesBack) {
  for (const PostgresqlAnswer& lie :
       {PostgresqlAnswer{.tag = "INSERT 0 1"}, PostgresqlAnswer{{"token"}, {{"4"}}, "INSERT 0 1"}}) {
    EXPECT_TRUE(written(Step::remember, {{lie}, 'T'}).has_error());
  }
}

TEST(PostgresqlAnswers, aWriteIsDoneOnlyIfTheAnswerSaysCommit) {
  for (const char* tag : {"ROLLBACK", "SELECT 1", "RELEASE", "SET", ""}) {
    EXPECT_TRUE(written(Step::end, {{{.tag = "RELEASE"}, {.tag = tag}}, 'I'}).has_error()) << tag;
  }
}

}  // namespace
}  // namespace tenure
