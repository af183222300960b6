// `tenure store sql` for a store that has SQL, and the choice of the store by the options of `tenure lock`.
#include <string>

#include <gtest/gtest.h>

#include <tenure/lockcore/stores/postgresql_store.hpp>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"

namespace tenure::test {
namespace {

class StoreSqlTest : public GroupFixture {
 protected:
  [[nodiscard]] std::string fileWith(const std::string& keys) const {
    directory_.write("postgresql.yaml", "group: g\nstore: { type: postgresql, " + keys + " }\n");
    return directory_.file("postgresql.yaml");
  }
};

TEST_F(StoreSqlTest, ADialectNeedsNoFile) {
  const Finished plain = finish({"store", "sql", "--dialect", "postgresql"});
  EXPECT_EQ(plain.code, cli::exitOk) << plain.errors;
  EXPECT_EQ(plain.output, postgresqlSchemaSql({}, ""));
  const Finished named = finish(
      {"store", "sql", "--dialect", "postgresql", "--schema", "locks", "--table", "leases", "--role", "scheduler"});
  EXPECT_EQ(named.code, cli::exitOk) << named.errors;
  EXPECT_EQ(named.output, postgresqlSchemaSql({.schema = "locks", .table = "leases"}, "scheduler"));
}

TEST_F(StoreSqlTest, AFileSaysSchemaTableAndRole) {
  const std::string file = fileWith("schema: locks, table: leases, user: scheduler");
  const PostgresqlStoreOptions options{.schema = "locks", .table = "leases"};
  EXPECT_EQ(finish({"store", "sql", "--config", file}).output, postgresqlSchemaSql(options, "scheduler"));
  const Finished other = finish({"store", "sql", "--config", file, "--role", "app"});
  EXPECT_EQ(other.output, postgresqlSchemaSql(options, "app"));
  EXPECT_EQ(finish({"store", "sql", "--config", file, "--dialect", "postgresql"}).code, cli::exitOk);
}

TEST_F(StoreSqlTest, TheVariableNamesTheFileUnlessADialectIsGiven) {
  SubprocessOptions options = as("a");
  options.environment["TENURE_CONFIG"] = fileWith("table: leases");
  const PostgresqlStoreOptions fromFile{.table = "leases"};
  EXPECT_EQ(runToEnd(tenure({"store", "sql"}), options).output, postgresqlSchemaSql(fromFile, ""));
  EXPECT_EQ(runToEnd(tenure({"store", "sql", "--dialect", "postgresql"}), options).output, postgresqlSchemaSql({}, ""));
}

TEST_F(StoreSqlTest, ANameThatCannotBeOneIsRefusedByItsOption) {
  const Finished refused = finish({"store", "sql", "--dialect", "postgresql", "--table", std::string(64, 't')});
  EXPECT_EQ(refused.code, cli::exitUsage);
  EXPECT_EQ(refused.output, "");
  EXPECT_TRUE(refused.errors.starts_with("tenure: --table: ")) << refused.errors;
}

/// In PostgreSQL "public" means everybody, also in quotes.
TEST_F(StoreSqlTest, NothingIsGrantedToEverybody) {
  const Finished refused = finish({"store", "sql", "--dialect", "postgresql", "--role", "public"});
  EXPECT_EQ(refused.code, cli::exitUsage);
  EXPECT_EQ(refused.output, "");
  EXPECT_TRUE(refused.errors.starts_with("tenure: the role \"public\" ")) << refused.errors;
  EXPECT_EQ(finish({"store", "sql", "--config", fileWith("user: public")}).code, cli::exitUsage);
}

TEST_F(StoreSqlTest, InitWritesAFileForThisStore) {
  const std::string file = directory_.file("made.yaml");
  EXPECT_EQ(finish({"init", file, "--store", "postgresql"}).code, cli::exitOk);
  const Finished checked = finish({"check", "--config", file});
  EXPECT_EQ(checked.code, cli::exitOk) << checked.errors;
  EXPECT_NE(checked.output.find("store postgresql"), std::string::npos) << checked.output;
}

/// --table is an option of DynamoDB as well, which comes first; with --connection it is PostgreSQL's.
TEST_F(StoreSqlTest, OptionsOfALockSayWhichStoreIsMeant) {
  const Finished both = finish({"lock", "acquire", "x", "--connection", "password=secret7", "--table", "leases"});
  EXPECT_EQ(both.code, cli::exitUsage);
  EXPECT_NE(both.errors.find("--connection: "), std::string::npos) << both.errors;
  EXPECT_EQ(both.errors.find("secret7"), std::string::npos) << both.errors;
  const Finished table = finish({"lock", "acquire", "x", "--table", "a b"});
  EXPECT_NE(table.errors.find("--table: is \"a b\"; it must be 3 to 255"), std::string::npos) << table.errors;
}

/// A password in a file would be shown by whatever shows the file.
TEST_F(StoreSqlTest, APasswordIsRefusedAndNotRepeated) {
  for (const char* keys : {"connection: \"postgresql://a:secret7@db1/jobs\"", "connection: \"password=secret7\"",
                           "connection: \"host=db1 password = 'secret7'\"", "listen: \"password=secret7\""}) {
    const Finished refused = finish({"check", "--config", fileWith(keys)});
    EXPECT_EQ(refused.code, cli::exitUsage) << keys;
    EXPECT_NE(refused.errors.find("passfile"), std::string::npos) << refused.errors;
    EXPECT_EQ(refused.errors.find("secret7"), std::string::npos) << refused.errors;
  }
}

}  // namespace
}  // namespace tenure::test
