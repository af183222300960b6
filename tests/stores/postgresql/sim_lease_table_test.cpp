// The table of the simulation (tests/simulation/postgresql) and the server answer each of the store's statements alike.
#include "simulation/postgresql/sim_lease_table.hpp"

#include <cstdlib>
#include <functional>
#include <future>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "contract/store_calls.hpp"
#include "lockcore/stores/postgresql/src/jobs.hpp"
#include "lockcore/stores/postgresql/src/statements.hpp"
#include "stores/postgresql/link_support.hpp"
#include "stores/postgresql/row_support.hpp"
#include "stores/postgresql/statement_server.hpp"
#include "support/seeded_random.hpp"

namespace tenure::postgresql_store {
namespace {

using namespace std::chrono_literals;
using test::LeaseTable;
using test::SeededRandom;

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

/// What is decided from the row as it was at some moment; empty: nothing is to be written.
std::optional<Statement> statementFrom(SeededRandom& random, Requests& requests, const RowState& seen) {
  const LeaseKey key{"lease"};
  const WriteRequest request = requests.next();
  const std::uint64_t kind = random.below(10);
  if (kind == 0) return statementOf(seen, key, stored::decideRemoval(requests.version(), seen));
  if (kind == 1) return statementOf(seen, key, stored::decideStepDown({FencingToken{1 + random.below(5)}}, seen));
  if (kind == 2) {
    const StoredTokens tokens = tokensFrom(seen.row);
    return statementOf(seen, key, stored::decideTokens(tokens, tokens, FencingToken{1 + random.below(9)}, "by hand"));
  }
  if (kind == 3) {
    const auto announcement = announcementOf(seen);
    return announcement ? std::optional{Jobs::write(*announcement, false).statements.front()} : std::nullopt;
  }
  const stored::Decision decision = stored::decideWrite("simulated", request, seen);
  const auto* change = std::get_if<stored::Change>(&decision);
  if (change == nullptr) return std::nullopt;
  const RowChange rows = rowChangeOf(seen, *change, stateAfter(testPlace, seen, key, *change));
  const bool joins = Jobs::mayJoin(rows) && random.chance(0.5);
  return (joins ? Jobs::renewals({&rows}) : Jobs::write(rows, true)).statements.front();
}

TEST(SimLeaseTable, answersAsTheServerDoes) {
  const test::PostgresqlSchema schema;
  const StatementServer server{schema.name()};
  LeaseTable table;
  const Statement whole{StatementId::readLease, {"lease", ""}};
  table.history = server.run(whole).at(0).at(presentHistoryColumn).value();
  const std::string other = table.history + "7";
  std::map<StatementId, int> changed;
  std::map<StatementId, int> refused;
  std::vector<Row> rows;  // as they were
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
    const Row now = table.run(whole).rows.at(0);
    ASSERT_EQ(now, server.run(whole).at(0)) << "turn " << turn;
    const Statement many = Jobs::read(std::vector{LeaseKey{"lease"}, LeaseKey{"other"}}).statements.front();
    ASSERT_EQ(table.run(many).rows, server.run(many)) << "turn " << turn;
    rows.push_back(now);
    Row chosen = random.chance(0.2) ? rows[random.below(rows.size())] : now;
    if (random.chance(0.05)) chosen[presentHistoryColumn] = other;
    const auto seen = stateOf(std::move(chosen));
    const auto told = seen->answer();
    requests.stored = told.has_value() && *told ? (*told)->version.text() : "";
    const auto statement = statementFrom(random, requests, *seen);
    if (!statement) continue;
    const auto before = table.row;
    const auto answer = table.run(*statement).rows;
    ASSERT_EQ(answer, server.run(*statement)) << "turn " << turn << ", statement " << static_cast<int>(statement->id);
    ++(answer.empty() ? refused : changed)[statement->id];
    EXPECT_TRUE(!answer.empty() || table.row == before);
    // Tokens go on a block with each history. A fresh row keeps them below the last block.
    if (table.row && (table.row->counter > (std::int64_t{1} << 52) || random.chance(0.02))) {
      table.row.reset();
      static_cast<void>(server.ask("DELETE FROM " + qualifiedName(schema.name(), "tenure_lease"), {}));
    }
  }
  for (const StatementId id : {StatementId::updateTerm, StatementId::updateTerms, StatementId::endTerm,
                               StatementId::beginTerm, StatementId::updateInHistory, StatementId::insertRow}) {
    EXPECT_GT(changed[id], 3) << static_cast<int>(id);
    EXPECT_GT(refused[id], 0) << static_cast<int>(id);
  }
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
  const StatementServer server{schema.name()};
  const StatementServer other{schema.name()};
  const LeaseKey key{"lease"};
  const auto seen = [&] { return stateOf(server.run({StatementId::readLease, {"lease", ""}}).at(0)); };
  const auto decided = [&](const WriteRequest& request) {
    const auto state = seen();
    return statementOf(*state, key, stored::decideWrite("server", request, *state)).value();
  };
  EXPECT_EQ(server.run(decided(contract::acquire(key, "a"))).size(), 1U);
  const auto versionNow = [&] { return (*seen()->record)->record.version; };
  const Statement takes = decided(contract::acquire(key, "b", {versionNow()}));
  const Statement renews = decided(contract::renew(key, "a", {versionNow()}));
  const Statement announces = Jobs::write(announcementOf(*seen()).value(), false).statements.front();

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
  EXPECT_EQ(server.run(decided(contract::acquire(key, "b", {versionNow()}))).at(0)[writtenTokenColumn], "7");
}

}  // namespace
}  // namespace tenure::postgresql_store
