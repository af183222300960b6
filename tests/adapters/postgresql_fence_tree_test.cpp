// Tables with partitions and children: a statement that reaches their rows by any name asks the fence.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/adapters/postgresql_fence_sql.hpp>

#include "adapters/postgresql_database.hpp"

namespace tenure {
namespace {

class PostgresqlFenceTree : public testing::Test {
 protected:
  PostgresqlFenceTree() {
    database_.exec(
        "CREATE TABLE root(id int, v text) PARTITION BY RANGE(id);"
        "CREATE TABLE p1 PARTITION OF root FOR VALUES FROM (0) TO (10);"
        "CREATE TABLE sub PARTITION OF root FOR VALUES FROM (10) TO (30) PARTITION BY RANGE(id);"
        "CREATE TABLE p2 PARTITION OF sub FOR VALUES FROM (10) TO (20);"
        "CREATE TABLE base(id int, v text); CREATE TABLE child() INHERITS (base);"
        "CREATE TABLE grandchild() INHERITS (child)");
  }

  /// Empty, or the first error.
  [[nodiscard]] std::string install(const std::string& table) const {
    if (database_.tryExec(postgresqlFenceSql({table, "billing"}, schema_.name())).empty()) return {};
    std::string told = database_.message();
    database_.exec("ROLLBACK");
    return told;
  }
  [[nodiscard]] std::string under(const std::string& token, const std::string& sql) const {
    std::string state = database_.tryExec("BEGIN; SET LOCAL tenure.token = '" + token + "'; " + sql + "; COMMIT");
    if (!state.empty()) database_.exec("ROLLBACK");
    return state;
  }
  /// Every kind of statement is refused without a token and under a stale one, by each of these names.
  void expectFenced(const std::vector<std::string>& tables, const std::vector<std::string>& statements) const {
    for (const std::string& table : tables) {
      for (std::string sql : statements) {
        sql.replace(sql.find('%'), 1, table);
        EXPECT_EQ(database_.tryExec(sql), postgresqlUnfencedState) << sql;
        EXPECT_EQ(under("4", sql), postgresqlStaleState) << sql;
      }
    }
  }
  [[nodiscard]] std::string count(const std::string& table) const {
    return database_.text("SELECT count(*) FROM " + table);
  }
  /// The states of the row trigger: O where it is on, D where a statement trigger makes it needless.
  [[nodiscard]] std::string rowTriggers() const {
    return database_.text(
        "SELECT string_agg(tgrelid::regclass || ' ' || tgenabled::text, ', ' ORDER BY tgrelid::regclass::text) FROM "
        "pg_trigger WHERE tgname = 'tenure_fence_row' AND tgrelid IN (SELECT oid FROM pg_class WHERE relnamespace = '" +
        schema_.name() + "'::regnamespace)");
  }

  const std::vector<std::string> all_{"INSERT INTO % VALUES(1, 'x')", "UPDATE % SET v = 'x'", "DELETE FROM %",
                                      "TRUNCATE %"};
  const test::PostgresqlSchema schema_;
  const test::PostgresqlConnection database_{schema_.name()};
};

TEST_F(PostgresqlFenceTree, aPartitionOrChildIsNotGuardedAlone) {
  for (const std::string table : {"p1", "sub", "p2"}) {
    const std::string told = install(table);
    EXPECT_NE(told.find("without asking the fence"), std::string::npos) << table << ": " << told;
    EXPECT_NE(told.find(table == "p2" ? "sub: that guards its partitions too" : "root: that guards its partitions too"),
              std::string::npos)
        << told;
    EXPECT_EQ(database_.tryExec("UPDATE " + table + " SET v = 'x'"), "") << "nothing was installed";
  }
  const std::string told = install("grandchild");
  EXPECT_NE(told.find("ALTER TABLE ... NO INHERIT"), std::string::npos) << told;
  database_.exec("CREATE TABLE other(id int, v text); CREATE TABLE two() INHERITS (base, other)");
  EXPECT_NE(install("base").find("a statement that names " + schema_.name() + ".other"), std::string::npos)
      << "a child's second parent: " << install("base");
}

TEST_F(PostgresqlFenceTree, aGuardedTableIsFencedByTheNamesOfAllItsPartitionsToo) {
  ASSERT_EQ(install("root"), "");
  EXPECT_EQ(rowTriggers(), "p1 D, p2 D, root O, sub O");
  EXPECT_EQ(under("5", "INSERT INTO root VALUES(1, 'a'), (2, 'b'), (11, 'c')"), "");
  expectFenced({"root", "p1", "sub", "p2"}, all_);
  EXPECT_EQ(under("5", "UPDATE root SET id = id + 10 WHERE id = 1; DELETE FROM p1 WHERE id = 2"), "");
  EXPECT_EQ(count("p2"), "2") << "a row moves to another partition under a good token";
  EXPECT_EQ(count("p1"), "0");
}

TEST_F(PostgresqlFenceTree, aPartitionThatComesLaterIsFencedFromTheStart) {
  ASSERT_EQ(install("root"), "");
  EXPECT_EQ(under("5", "INSERT INTO root VALUES(1, 'a')"), "");
  database_.exec(
      "CREATE TABLE p3 PARTITION OF sub FOR VALUES FROM (20) TO (30); CREATE TABLE p4(id int, v text);"
      "INSERT INTO p4 VALUES(31, 'x'), (32, 'y'); ALTER TABLE root ATTACH PARTITION p4 FOR VALUES FROM (30) TO (40)");
  expectFenced({"p4"}, {"UPDATE % SET v = 'x'", "DELETE FROM %", "INSERT INTO % VALUES(33, 'x')",
                        "INSERT INTO % VALUES(33, 'x') ON CONFLICT DO NOTHING"});
  expectFenced({"p3"}, {"INSERT INTO % VALUES(21, 'x')"});
  EXPECT_EQ(under("5", "UPDATE p4 SET v = 'z'; DELETE FROM p4 WHERE id = 31; INSERT INTO root VALUES(21, 'n')"), "");
  EXPECT_EQ(database_.text("SELECT string_agg(id || v, ' ' ORDER BY id) FROM root"), "1a 21n 32z");
  EXPECT_EQ(under("5", "UPDATE root SET id = 22 WHERE id = 32"), "")
      << "a row moves between partitions with row triggers";
  EXPECT_EQ(count("p3"), "2");
  ASSERT_EQ(install("root"), "");
  EXPECT_EQ(rowTriggers(), "p1 D, p2 D, p3 D, p4 D, root O, sub O") << "one question a statement again";
  expectFenced({"p3", "p4"}, {"TRUNCATE %"});
  database_.exec("ALTER TABLE root DETACH PARTITION p1");
  expectFenced({"p1"}, all_);
}

TEST_F(PostgresqlFenceTree, aGuardedTableIsFencedByTheNamesOfItsChildrenToo) {
  ASSERT_EQ(install("base"), "");
  EXPECT_EQ(under("5", "INSERT INTO base VALUES(1, 'a'); INSERT INTO grandchild VALUES(2, 'b')"), "");
  expectFenced({"base", "child", "grandchild"}, all_);
  EXPECT_EQ(under("5", "UPDATE base SET v = 'z'"), "");
  EXPECT_EQ(database_.text("SELECT string_agg(v, '') FROM base"), "zz");
}

}  // namespace
}  // namespace tenure
