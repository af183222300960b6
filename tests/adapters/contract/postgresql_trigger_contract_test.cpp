// The fence's contract on a table that only `tenure fence install-sql` guards: the writers know plain SQL.
#include <memory>
#include <string>
#include <vector>

#include <tenure/adapters/postgresql_fence.hpp>
#include <tenure/adapters/postgresql_fence_sql.hpp>

#include "adapters/contract/fence_contract.hpp"
#include "adapters/contract/printed_sql.hpp"
#include "adapters/postgresql_database.hpp"

namespace tenure::contract {
namespace {

/// Does what a program in any language would do.
class PlainHandle final : public FenceHandle {
 public:
  explicit PlainHandle(const std::string& schema) : connection_{schema} { connection_.exec("SET lock_timeout = 200"); }

  FenceResult<void> write(const TermStamp& stamp, const std::string& entry,
                          const std::function<void()>& inside) override {
    if (auto error = errorOf(stamp)) return *std::move(error);
    connection_.exec("BEGIN");
    std::string state = connection_.tryExec("SET LOCAL tenure.token = '" + toString(stamp.token) +
                                            "'; SET LOCAL tenure.holder = " + quoted(stamp.holder) +
                                            "; SET LOCAL tenure.lease = " + quoted(stamp.lease));
    if (state.empty()) state = connection_.tryExec(insert(tableOf(stamp), stamp, entry));
    if (state.empty() && inside) inside();
    if (state.empty()) {
      connection_.exec("COMMIT");
      return {};
    }
    const std::string message = connection_.message();
    connection_.exec("ROLLBACK");
    return told(stamp, state, message);
  }
  FenceResult<void> writeUnder(const FencedTerm& term, const std::string& entry) override {
    return underTerm(term, [&](const TermStamp& stamp) { return write(stamp, entry, {}); });
  }
  bool writeBare(const TermStamp& stamp, const std::string& entry) override {
    return connection_.tryExec(insert("ledger_bare", stamp, entry)).empty();
  }
  FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease) override {
    const auto rows = connection_.rows("SELECT token, holder FROM tenure_fence_guard WHERE lease = " + quoted(lease));
    if (rows.empty()) return std::optional<TermStamp>{};
    return std::optional{TermStamp{lease, FencingToken{std::stoull(rows[0][0])}, rows[0][1]}};
  }

 private:
  [[nodiscard]] std::string quoted(const std::string& text) const {
    char* literal = PQescapeLiteral(connection_.raw(), text.data(), text.size());
    std::string out{literal};
    PQfreemem(literal);
    return out;
  }
  /// Each lease has its own table.
  static std::string tableOf(const TermStamp& stamp) {
    if (stamp.lease == contractLease) return "ledger";
    return stamp.lease == "Contract" ? "ledger_case" : "ledger_odd";
  }
  [[nodiscard]] std::string insert(const std::string& table, const TermStamp& stamp, const std::string& entry) const {
    return "INSERT INTO " + table + "(token, holder, entry) VALUES(" + toString(stamp.token) + ", " +
           quoted(stamp.holder) + ", " + quoted(entry) + ')';
  }
  [[nodiscard]] FenceError told(const TermStamp& stamp, const std::string& state, const std::string& message) {
    if (state == postgresqlStaleState || state == postgresqlForeignState) {
      if (auto error = termError(stamp, *highestSeen(stamp.lease))) return *error;
    }
    const bool passes = state == "40001" || state == "40P01" || state == "55P03";
    return fenceError({passes ? ErrorClass::transient : ErrorClass::misconfigured, message});
  }

  const test::PostgresqlConnection connection_;
};

class GuardedTables final : public FencedResource {
 public:
  GuardedTables() {
    database_.exec(
        "CREATE SEQUENCE id; CREATE TABLE ledger_bare(id bigint NOT NULL DEFAULT nextval('id'), token bigint NOT NULL, "
        "holder text NOT NULL, entry text NOT NULL)");
    const std::pair<const char*, const char*> tables[] = {
        {"ledger", "contract"},
        {"ledger_case", "Contract"},
        {"ledger_odd", "\"$(printf 'it'\\''s \"odd\"\\\\; DROP TABLE x; -- %%s {0}\\360\\237\\230\\200=,:')\""}};
    for (const auto& [table, lease] : tables) {
      database_.exec("CREATE TABLE " + std::string{table} + "(LIKE ledger_bare INCLUDING DEFAULTS)");
      const std::string script =
          printedSql("--dialect postgresql --schema " + schema_.name() + " --table " + table + " --lease " + lease);
      database_.exec(script);
      database_.exec(script);  // it may be run again
    }
  }

  std::string address() const override { return schema_.name(); }
  std::vector<FencedEntry> entries() override {
    std::vector<FencedEntry> found;
    for (const auto& row :
         database_.rows("SELECT token, holder, entry FROM (TABLE ledger_bare UNION ALL TABLE ledger UNION ALL TABLE "
                        "ledger_case UNION ALL TABLE ledger_odd) AS ledgers ORDER BY id")) {
      found.push_back({FencingToken{std::stoull(row[0])}, row[1], row[2]});
    }
    return found;
  }

 private:
  const test::PostgresqlSchema schema_;
  const test::PostgresqlConnection database_{schema_.name()};
};

const FenceUnderTest trigger =
    registerFence({.name = "PostgresqlTrigger",
                   .make = [] { return std::make_unique<GuardedTables>(); },
                   .open = [](const std::string& address) { return std::make_unique<PlainHandle>(address); },
                   .pausesInside = true,
                   .raceWrites = 1'000});

INSTANTIATE_TEST_SUITE_P(Trigger, FenceContract, testing::Values(trigger), fenceName);
INSTANTIATE_TEST_SUITE_P(Trigger, FenceRaceContract, testing::Values(trigger), fenceName);
INSTANTIATE_TEST_SUITE_P(Trigger, FenceFreezeContract, testing::Values(trigger), fenceName);

class PostgresqlFenceSql : public testing::Test {
 protected:
  void guard(const std::string& table, const std::string& lease) const {
    database_.exec(postgresqlFenceSql({table, lease}, schema_.name()));
  }
  [[nodiscard]] std::string under(const std::string& token, const std::string& sql) const {
    std::string state = database_.tryExec("BEGIN; SET LOCAL tenure.token = '" + token + "'; " + sql + "; COMMIT");
    if (!state.empty()) database_.exec("ROLLBACK");
    return state;
  }

  const test::PostgresqlSchema schema_;
  const test::PostgresqlConnection database_{schema_.name()};
};

TEST_F(PostgresqlFenceSql, guardsEveryKindOfStatement) {
  database_.exec("CREATE TABLE t(x int)");
  guard("t", "billing");
  for (const std::string sql : {"INSERT INTO t VALUES(1)", "UPDATE t SET x = 2", "DELETE FROM t", "TRUNCATE t"}) {
    EXPECT_EQ(database_.tryExec(sql), postgresqlUnfencedState) << sql;
    EXPECT_EQ(under("7", sql), "") << sql;
    EXPECT_EQ(under("6", sql), postgresqlStaleState) << sql;
  }
  for (const std::string bad :
       {"", "0", "-1", "07", "7.0", "1e3", "9007199254740992", "9223372036854775808", "x", "7; DROP TABLE t"}) {
    EXPECT_EQ(under(bad, "DELETE FROM t"), postgresqlUnfencedState) << bad;
  }
  EXPECT_EQ(database_.tryExec("SET tenure.lease = 'payroll'"), "");
  EXPECT_EQ(under("8", "DELETE FROM t"), postgresqlUnfencedState) << "a term of another lease";
}

TEST_F(PostgresqlFenceSql, aStoredTokenAboveTheGreatestIsDamageUntilAnOperatorSetsIt) {
  database_.exec("CREATE TABLE t(x int)");
  guard("t", "billing");
  EXPECT_EQ(under("9007199254740991", "INSERT INTO t VALUES(1)"), "") << "whoever may write may claim the greatest";
  EXPECT_EQ(database_.tryExec("INSERT INTO tenure_fence_guard(lease, token) VALUES('x', 9007199254740992)"), "23514");
  database_.exec(
      "ALTER TABLE tenure_fence_guard DROP CONSTRAINT tenure_fence_guard_token_check");  // an older release's
  database_.exec("UPDATE tenure_fence_guard SET token = 9223372036854775807");
  for (const char* token : {"1", "9007199254740991"}) {
    EXPECT_EQ(under(token, "DELETE FROM t"), postgresqlDamagedState) << token;
  }
  PostgresqlFence fence = PostgresqlFence::open(database_.raw()).value();
  EXPECT_TRUE(fence.highestSeen("billing").has_error());
  database_.exec(postgresqlSetFenceSql(schema_.name(), {"billing", FencingToken{17}, "tenure fence recover"}));
  EXPECT_EQ(under("16", "DELETE FROM t"), postgresqlStaleState);
  EXPECT_EQ(under("17", "SET LOCAL tenure.holder = 'a'; DELETE FROM t"), postgresqlForeignState);
  EXPECT_EQ(under("18", "DELETE FROM t"), "");
}

TEST_F(PostgresqlFenceSql, quotesWhateverNamesThereAre) {
  for (const std::string name :
       {"a\"b", "x'; DROP TABLE t; --", "$tenure$", "Upper Case", "{lease}", "\\", "\xC3\xBC"}) {
    char* quoted = PQescapeIdentifier(database_.raw(), name.data(), name.size());
    const std::string table{quoted};
    PQfreemem(quoted);
    database_.exec("CREATE TABLE " + table + "(x int)");
    guard(name, name);
    EXPECT_EQ(database_.tryExec("INSERT INTO " + table + " VALUES(1)"), postgresqlUnfencedState) << name;
    EXPECT_EQ(under("5", "INSERT INTO " + table + " VALUES(1)"), "") << name;
  }
  EXPECT_EQ(database_.text("SELECT count(*) FROM tenure_fence_guard"), "7");
  database_.exec("SET standard_conforming_strings = off");
  guard("\\", "\\'; DROP TABLE tenure_fence_guard; --");
  EXPECT_EQ(under("1", "DELETE FROM \"\\\""), "");
}

TEST_F(PostgresqlFenceSql, refusesNamesThatPostgresqlWouldCutOrNotTake) {
  const std::string longest(63, 'x');
  EXPECT_NO_THROW((void)postgresqlFenceSql({longest, "billing"}));
  for (const FencedTable& bad :
       {FencedTable{longest + 'x', "billing"}, FencedTable{"", "billing"}, FencedTable{"t", ""},
        FencedTable{"\xFF", "b"}, FencedTable{std::string{"t\0", 2}, "b"}}) {
    EXPECT_THROW((void)postgresqlFenceSql(bad), std::invalid_argument);
  }
  EXPECT_THROW((void)postgresqlFenceSql({"t", "billing"}, ""), std::invalid_argument);
}

TEST_F(PostgresqlFenceSql, aWriterNeedsNoRightOnTheFencesTableAndCannotUseItsFunction) {
  const std::string role = "r" + schema_.name();
  database_.exec("CREATE TABLE t(x int); CREATE ROLE " + role + "; GRANT USAGE, CREATE ON SCHEMA " + schema_.name() +
                 " TO " + role + "; GRANT INSERT ON t TO " + role);
  guard("t", "billing");
  database_.exec("SET ROLE " + role);
  EXPECT_EQ(under("5", "INSERT INTO t VALUES(1)"), "");
  EXPECT_EQ(under("4", "INSERT INTO t VALUES(1)"), postgresqlStaleState);
  EXPECT_EQ(database_.tryExec("UPDATE tenure_fence_guard SET token = 9"), "42501");
  EXPECT_EQ(database_.tryExec("CREATE TABLE mine(x int); CREATE TRIGGER raise BEFORE INSERT ON mine EXECUTE FUNCTION "
                              "tenure_fence_check('billing')"),
            "42501");
  database_.exec("RESET ROLE; DROP OWNED BY " + role + "; DROP ROLE " + role);
}

TEST_F(PostgresqlFenceSql, sharesItsMemoryWithTheLibrarysWriters) {
  database_.exec("CREATE TABLE t(x int)");
  guard("t", "billing");
  PostgresqlFence fence = PostgresqlFence::open(database_.raw()).value();
  const auto insert = [](PGconn* connection) {
    return PostgresqlResult{PQexec(connection, "INSERT INTO t VALUES(1)")};
  };
  EXPECT_EQ(under("4", "INSERT INTO t VALUES(1)"), "");
  EXPECT_TRUE(fence.write({"billing", FencingToken{5}, "a#1"}, insert).has_value());
  EXPECT_EQ(under("4", "INSERT INTO t VALUES(1)"), postgresqlStaleState);
  EXPECT_EQ(under("5", "SET LOCAL tenure.holder = 'b#2'; INSERT INTO t VALUES(1)"), postgresqlForeignState);
  EXPECT_EQ(under("6", "INSERT INTO t VALUES(1)"), "");
  EXPECT_TRUE(fence.write({"billing", FencingToken{5}, "a#1"}, insert).has_error());
  EXPECT_TRUE(fence.write({"billing", FencingToken{6}, "b#2"}, insert).has_value()) << "6 was nobody's by name";
  EXPECT_EQ(fence.highestSeen("billing").value(), (TermStamp{"billing", FencingToken{6}, "b#2"}));
  EXPECT_TRUE(fence.write({"payroll", FencingToken{9}, "b#2"}, insert).has_error()) << "the table is another lease's";
}

}  // namespace
}  // namespace tenure::contract
