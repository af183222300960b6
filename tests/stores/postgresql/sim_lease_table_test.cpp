// The table of the simulation (tests/simulation/postgresql) and the server answer each of the store's statements alike.
#include "simulation/postgresql/sim_lease_table.hpp"

#include <cstdlib>
#include <functional>
#include <future>
#include <memory>

#include <gtest/gtest.h>

#include "adapters/postgresql_database.hpp"
#include "lockcore/stores/postgresql/src/jobs.hpp"
#include "lockcore/stores/postgresql/src/statements.hpp"
#include "stores/postgresql/link_support.hpp"
#include "support/seeded_random.hpp"

#include <libpq-fe.h>

namespace tenure::postgresql_store {
namespace {

using namespace std::chrono_literals;
using test::LeaseTable;
using test::SeededRandom;

class Server {
 public:
  explicit Server(const std::string& schema)
      : statements_{schema, "tenure_lease"}, connection_{PQconnectdb(test::postgresqlUrl().c_str()), PQfinish} {
    static_cast<void>(run({StatementId::createTable}));
  }

  [[nodiscard]] std::vector<Row> run(const Statement& statement) const {
    return ask(statements_.sql(statement.id, true), statement.values);
  }

  [[nodiscard]] std::vector<Row> ask(const std::string& sql, const std::vector<Value>& values) const {
    std::vector<const char*> texts;
    for (const Value& value : values) texts.push_back(value ? value->c_str() : nullptr);
    const std::unique_ptr<PGresult, decltype(&PQclear)> result{
        PQexecParams(connection_.get(), sql.c_str(), static_cast<int>(texts.size()), nullptr, texts.data(), nullptr,
                     nullptr, 0),
        PQclear};
    EXPECT_EQ(std::string{PQresultErrorMessage(result.get())}, "") << sql;
    std::vector<Row> rows;
    for (int i = 0; i < PQntuples(result.get()); ++i) {
      Row row;
      for (int c = 0; c < PQnfields(result.get()); ++c) {
        row.push_back(PQgetisnull(result.get(), i, c) != 0 ? Value{} : Value{PQgetvalue(result.get(), i, c)});
      }
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  Statements statements_;
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

class Requests {
 public:
  Requests(SeededRandom& random, std::string history) : random_{random}, history_{std::move(history)} {}

  [[nodiscard]] RecordVersion version() {
    const char* const histories[] = {"", "", history_.c_str(), "9/9"};
    const std::string text = random_.chance(0.8) && !stored.empty() ? stored : "v" + std::to_string(random_.below(6));
    return RecordVersion{text, histories[random_.below(4)]};
  }

  [[nodiscard]] WriteRequest next() {
    WriteRequest request;
    request.key = LeaseKey{"lease"};
    request.purpose = static_cast<WriteRequest::Purpose>(random_.below(3));
    for (std::uint64_t count = random_.below(3); count > 0; --count) request.expected.push_back(version());
    request.record.version = RecordVersion{"v" + std::to_string(random_.below(6))};
    request.record.holder = random_.chance(0.7) ? "a" : "b";
    request.record.leaseDuration = 1ms * static_cast<int>(1 + random_.below(3));
    if (random_.chance(0.3)) request.record.data = "data";
    request.dataRule = static_cast<DataRule>(random_.below(3));
    request.record.acquiredAtMillis = static_cast<std::int64_t>(random_.below(5));
    request.record.renewedAtMillis = static_cast<std::int64_t>(random_.below(5));
    request.removes = random_.chance(0.4);
    if (random_.chance(0.3)) request.tokenFloor = FencingToken{random_.below(10)};
    return request;
  }

  std::string stored{};  ///< as the version that an acquisition has to expect

 private:
  SeededRandom& random_;
  const std::string history_;
};

std::vector<Statement> statementsOf(SeededRandom& random, Requests& requests) {
  const WriteRequest request = requests.next();
  if (Jobs::mayJoin(request) && !request.expected.empty()) {
    const Job all = Jobs::read(std::vector{request.key});
    return {Jobs::renewals({&request}).statements.front(), all.statements.front()};
  }
  const std::uint64_t kind = random.below(10);
  Job job = Jobs::write(request);
  if (kind == 0) job = Jobs::remove(request.key, requests.version());
  if (kind >= 8 && request.purpose == WriteRequest::Purpose::acquire) return Jobs::announce(request).statements;
  if (kind == 1) job = Jobs::askToStepDown(request.key, FencingToken{1 + random.below(5)});
  return job.statements;
}

TEST(SimLeaseTable, answersAsTheServerDoes) {
  const test::PostgresqlSchema schema;
  const Server server{schema.name()};
  LeaseTable table;
  const auto present = server.run({StatementId::readLease, {"lease", ""}});
  table.history = present.at(0).at(presentHistoryColumn).value();
  const std::string other = table.history + "7";
  std::size_t changed = 0;
  SeededRandom random{7};
  Requests requests{random, table.history};
  for (int turn = 0; turn < 4'000; ++turn) {
    if (table.row && random.chance(0.15)) {
      const Value histories[] = {table.history, "1/1", other, std::nullopt};
      table.row->history = histories[random.below(4)];
      table.row->counterHistory = histories[random.below(4)];
      static_cast<void>(server.ask("UPDATE " + qualifiedName(schema.name(), "tenure_lease") +
                                       " SET history = $1::text, counter_history = $2::text",
                                   {table.row->history, table.row->counterHistory}));
    }
    for (const Statement& statement : statementsOf(random, requests)) {
      const auto before = table.row;
      const auto told = table.run(statement).rows;
      ASSERT_EQ(told, server.run(statement)) << "turn " << turn << ", statement " << static_cast<int>(statement.id);
      if (table.row != before) ++changed;
      const Statement whole{StatementId::readLease, {"lease", ""}};
      ASSERT_EQ(table.run(whole).rows, server.run(whole))
          << "turn " << turn << ", after statement " << static_cast<int>(statement.id);
    }
    const bool inherits = table.row && table.row->history != table.history;
    const std::int64_t open =
        table.row ? std::max(table.row->counterLease, inherits ? table.row->lease.value_or(0) : 0) : 0;
    requests.stored =
        table.row
            ? table.row->version.value_or("counter:" + std::to_string(table.row->counter) + ':' + std::to_string(open))
            : "";
    // Tokens go on a block with each history. A fresh row keeps them below the last block.
    if (table.row && table.row->counter > (std::int64_t{1} << 52)) {
      table.row.reset();
      static_cast<void>(server.ask("DELETE FROM " + qualifiedName(schema.name(), "tenure_lease"), {}));
    }
  }
  EXPECT_GT(changed, 500U);
}

TEST(StatementTexts, noneDependsOnHowTheRoleReadsBackslashes) {
  const Statements statements{"public", "tenure_lease"};
  for (std::size_t id = 0; id < statementCount; ++id) {
    const std::string& sql = statements.sql(static_cast<StatementId>(id), true);
    EXPECT_EQ(sql.find('\\'), std::string::npos) << "standard_conforming_strings=off reads it otherwise: " << sql;
  }
}

/// A transaction may commit between the moment of which a statement sees the table and the moment in which it locks the
/// row. An advisory lock makes that time long here.
TEST(StatementTexts, aRowThatWasChangedBeforeTheLockIsNotChanged) {
  const test::PostgresqlSchema schema;
  const Statements statements{schema.name(), "tenure_lease"};
  const Server server{schema.name()};
  const Server other{schema.name()};
  WriteRequest request;
  request.key = LeaseKey{"lease"};
  request.record.holder = "a";
  request.record.version = RecordVersion{"v1"};
  request.record.leaseDuration = 10s;
  for (const Statement& statement : Jobs::write(request).statements) static_cast<void>(server.run(statement));
  const auto present = server.run({StatementId::readLease, {"lease", ""}}).at(0);
  request.expected = {RecordVersion{"v1", present[presentHistoryColumn].value()}};
  request.record.version = RecordVersion{"v2"};
  const Statement takes = Jobs::write(request).statements.front();
  request.purpose = WriteRequest::Purpose::renew;
  const Statement renews = Jobs::write(request).statements.front();
  const Statement announces = Jobs::announce(request).statements.front();

  const std::string pid = server.ask("SELECT pg_backend_pid()", {}).at(0).at(0).value();
  const auto beside = [&](const Statement& statement, const std::function<void()>& meanwhile) {
    std::string sql = statements.sql(statement.id, true);
    const std::size_t lock = sql.find(" FOR ");
    sql.insert(lock, " AND (SELECT pg_advisory_xact_lock(" + pid + ")) IS NOT NULL");
    static_cast<void>(other.ask("SELECT pg_advisory_lock(" + pid + ")", {}));
    auto rows = std::async(std::launch::async, [&] { return server.ask(sql, statement.values); });
    EXPECT_TRUE(test::eventually([&] {
      const auto waits = other.ask("SELECT 1 FROM pg_locks WHERE NOT granted AND pid = " + pid, {});
      return !waits.empty();
    }));
    meanwhile();
    static_cast<void>(other.ask("SELECT pg_advisory_unlock(" + pid + ")", {}));
    return rows.get();
  };
  const auto renewed = beside(renews, [&] { EXPECT_EQ(other.run(announces).size(), 1U); });
  EXPECT_TRUE(renewed.empty()) << "a takeover was announced before the lock";
  const std::string table = qualifiedName(schema.name(), "tenure_lease");
  const auto taken = beside(takes, [&] { static_cast<void>(other.ask("UPDATE " + table + " SET counter = 6", {})); });
  EXPECT_TRUE(taken.empty()) << "of the same version";
  const auto then = server.run(takes);
  ASSERT_EQ(then.size(), 1U);
  EXPECT_EQ(then[0][takenTokenColumn], "7") << "the token follows the counter of the row that was locked";
  EXPECT_EQ(then[0][counterBeforeColumn], "6");
}

}  // namespace
}  // namespace tenure::postgresql_store
