// The table, its rights, and what others put on it, on a real server.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lockcore/stores/postgresql/src/statements.hpp"
#include "stores/postgresql/store_support.hpp"

namespace tenure::postgresql_store {
namespace {

TEST_F(PostgresqlStoreTest, theGrantsThatItPrintsAreEnough) {
  const test::PostgresqlSchema other;
  const std::string role = other.name() + "_role";
  hand().exec("CREATE ROLE " + role + " LOGIN");
  PostgresqlStoreOptions asRole = options();
  asRole.schema = other.name();
  asRole.user = role;
  StoreCalls limited = calls(makePostgresqlStore(asRole));
  const StoreStatus refused = limited.startEnsureSchema()->get();
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().errorClass, ErrorClass::credentials) << refused.error().message;
  EXPECT_NE(refused.error().message.find("GRANT"), std::string::npos) << refused.error().message;
  hand().exec(postgresqlSchemaSql(asRole, role));
  limited.ensureSchema();
  const LeaseKey key{"lease"};
  const FencingToken token = limited.apply(acquire(key, "a")).token;
  limited.apply(renew(key, "a", {limited.record(key).version}));
  EXPECT_TRUE(std::holds_alternative<Applied>(limited.requestStepDown(key, token)));
  limited.apply(release(key, "a", {limited.record(key).version}));
  EXPECT_EQ(limited.list("").size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Applied>(limited.setTokens(key, limited.tokens(key), 17)));
  EXPECT_TRUE(std::holds_alternative<Applied>(limited.remove(key, limited.record(key).version)));
  EXPECT_EQ(hand().text("SELECT has_table_privilege('" + role + "', '" + other.name() + ".tenure_lease', 'DELETE')"),
            "f");
  limited.drop();
  hand().exec("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

TEST_F(PostgresqlStoreTest, aTableThatIsNotAsNeededIsRefusedByName) {
  const std::vector<std::pair<const char*, const char*>> faults{
      {"ALTER TABLE tenure_lease SET UNLOGGED", "UNLOGGED"},
      {"ALTER TABLE tenure_lease DROP COLUMN history", "history text"},
      {"ALTER TABLE tenure_lease ALTER COLUMN lease_ms TYPE int", "lease_ms bigint"},
      {"ALTER TABLE tenure_lease DROP CONSTRAINT tenure_lease_pkey", "PRIMARY KEY"},
      {"ALTER TABLE tenure_lease DROP CONSTRAINT tenure_lease_name_sort_token_key", "UNIQUE (name, sort, token)"},
      {"ALTER TABLE tenure_lease ALTER COLUMN name TYPE text COLLATE \"POSIX\"", "collation"},
      {"ALTER TABLE tenure_lease ALTER COLUMN layout SET DEFAULT 2", "Upgrade"},
      {"ALTER TABLE tenure_lease ADD COLUMN team text NOT NULL", "for these columns, which are NOT NULL: \"team\""},
      {"ALTER TABLE tenure_lease ALTER COLUMN token SET NOT NULL", "\"token\""},
      {"CREATE RULE quiet AS ON UPDATE TO tenure_lease DO INSTEAD NOTHING", "these rules: \"quiet\""},
      {"CREATE TRIGGER \"a\nb\" BEFORE UPDATE ON tenure_lease FOR EACH ROW EXECUTE FUNCTION "
       "pg_catalog.suppress_redundant_updates_trigger()",
       "these triggers: \"a\\nb\""},
      {"ALTER TABLE tenure_lease ADD CONSTRAINT small CHECK (counter < 5)",
       "these constraints, which may refuse "
       "writes: \"small\""},
      {"ALTER TABLE tenure_lease ADD CONSTRAINT alone EXCLUDE (holder WITH =)", "\"alone\""},
      {"CREATE TABLE people (name text PRIMARY KEY); ALTER TABLE tenure_lease ADD CONSTRAINT known FOREIGN KEY "
       "(holder) REFERENCES people",
       "\"known\""},
      {"CREATE TABLE more () INHERITS (tenure_lease)", "these child tables: \"more\""},
      {"DROP TABLE tenure_lease CASCADE; CREATE VIEW tenure_lease AS SELECT 1 AS name", "ordinary table"}};
  for (const auto& [change, told] : faults) {
    SCOPED_TRACE(change);
    hand().exec("DROP TABLE IF EXISTS tenure_lease CASCADE");
    store().ensureSchema();
    hand().exec(change);
    const StoreStatus status = store().startEnsureSchema()->get();
    ASSERT_TRUE(status.has_error());
    EXPECT_EQ(status.error().errorClass, ErrorClass::misconfigured);
    EXPECT_TRUE(status.error().permanent);
    EXPECT_NE(status.error().message.find(told), std::string::npos) << status.error().message;
  }
}

TEST_F(PostgresqlStoreTest, whatOthersAddedAndDoesNotMatterIsAllowed) {
  hand().exec(
      "ALTER TABLE tenure_lease ADD COLUMN team text NOT NULL DEFAULT '', ADD COLUMN n int GENERATED ALWAYS AS "
      "IDENTITY;"
      "CREATE RULE quiet AS ON UPDATE TO tenure_lease DO INSTEAD NOTHING;"
      "DROP RULE quiet ON tenure_lease;"
      "CREATE TABLE more () INHERITS (tenure_lease); DROP TABLE more;"
      "CREATE TABLE page (lease text, sort text, FOREIGN KEY (lease, sort) REFERENCES tenure_lease);"
      "CREATE TRIGGER off BEFORE UPDATE ON tenure_lease FOR EACH ROW EXECUTE FUNCTION "
      "pg_catalog.suppress_redundant_updates_trigger();"
      "ALTER TABLE tenure_lease DISABLE TRIGGER off");
  store().ensureSchema();
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  store().apply(renew(key, "a", {store().record(key).version}));
}

TEST_F(PostgresqlStoreTest, rowLevelSecurityIsRefusedWhereItApplies) {
  const std::string role = schema() + "_role";
  hand().exec("CREATE ROLE " + role + " LOGIN; " + postgresqlSchemaSql(options(), role) +
              "ALTER TABLE tenure_lease ENABLE ROW LEVEL SECURITY");
  store().ensureSchema();  // the owner is above it
  PostgresqlStoreOptions asRole = options();
  asRole.user = role;
  StoreCalls limited = calls(makePostgresqlStore(asRole));
  const StoreStatus refused = limited.startEnsureSchema()->get();
  EXPECT_TRUE(refused.has_error());
  if (refused.has_error()) {
    EXPECT_EQ(refused.error().errorClass, ErrorClass::misconfigured) << refused.error().message;
    EXPECT_NE(refused.error().message.find("row-level security"), std::string::npos) << refused.error().message;
  }
  const WriteOutcome outcome = limited.write(acquire({"lease"}, "a"));
  const auto* rejected = std::get_if<Rejected>(&outcome);
  ASSERT_NE(rejected, nullptr);
  EXPECT_NE(rejected->error.message.find("row-level security"), std::string::npos) << rejected->error.message;
  EXPECT_NE(rejected->error.message.find("DISABLE ROW LEVEL SECURITY"), std::string::npos) << rejected->error.message;
  hand().exec("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

/// Its owner, or who may put triggers on it, could run code with the rights of every candidate.
TEST_F(PostgresqlStoreTest, aTableThatARoleMadeWhichTheCandidateDoesNotTrustIsRefused) {
  const std::string crook = schema() + "_crook";
  const std::string candidate = schema() + "_candidate";
  hand().exec("CREATE ROLE " + crook + "; CREATE ROLE " + candidate + " LOGIN; " +
              postgresqlSchemaSql(options(), candidate));
  PostgresqlStoreOptions asCandidate = options();
  asCandidate.user = candidate;
  const auto fault = [&] {
    const StoreStatus status = calls(makePostgresqlStore(asCandidate)).startEnsureSchema()->get();
    return status.has_value() ? std::string{} : status.error().message;
  };
  EXPECT_EQ(fault(), "");
  hand().exec("ALTER TABLE tenure_lease OWNER TO " + crook);
  EXPECT_NE(fault().find("belongs to role \"" + crook + '"'), std::string::npos) << fault();
  EXPECT_NE(hand().tryExec(postgresqlSchemaSql(options(), candidate)), "") << "the script keeps what is there";
  hand().exec("ROLLBACK; GRANT " + candidate + " TO " + crook);
  EXPECT_EQ(fault(), "") << "who may act as the candidate anyway gets nothing by it";
  hand().exec("REVOKE " + candidate + " FROM " + crook + "; ALTER SCHEMA " + schema() + " OWNER TO " + crook);
  EXPECT_EQ(fault(), "") << "the schema's owner could put another table in its place";
  hand().exec("ALTER SCHEMA " + schema() +
              " OWNER TO CURRENT_USER; ALTER TABLE tenure_lease OWNER TO CURRENT_USER; "
              "GRANT TRIGGER ON tenure_lease TO " +
              crook);
  EXPECT_NE(fault().find("put triggers on it, and so use this role's rights: \"" + crook + '"'), std::string::npos)
      << fault();
  hand().exec("REVOKE TRIGGER ON tenure_lease FROM " + crook + "; GRANT TRIGGER ON tenure_lease TO " + candidate);
  EXPECT_EQ(fault(), "") << "default privileges may have given it to the candidate itself";
  for (const std::string& role : {crook, candidate}) hand().exec("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

/// What the script leaves behind is a table that the program takes, whoever runs it; or it stops and says what to do.
TEST_F(PostgresqlStoreTest, theScriptLeavesATableThatTheProgramTakes) {
  const std::string migrator = schema() + "_migrator";
  const std::string candidate = schema() + "_candidate";
  hand().exec("DROP TABLE IF EXISTS tenure_lease; CREATE ROLE " + migrator + "; CREATE ROLE " + candidate +
              " LOGIN; GRANT ALL ON SCHEMA " + schema() + " TO " + migrator + ", " + candidate);
  PostgresqlStoreOptions asCandidate = options();
  asCandidate.user = candidate;
  const std::string script = postgresqlSchemaSql(options(), candidate);
  hand().exec("SET ROLE " + migrator);
  EXPECT_EQ(hand().tryExec(script), "42501");
  EXPECT_NE(hand().message().find("GRANT " + candidate + " TO " + migrator), std::string::npos) << hand().message();
  hand().exec("ROLLBACK; RESET ROLE; GRANT " + candidate + " TO " + migrator + "; SET ROLE " + migrator);
  EXPECT_EQ(hand().tryExec(script), "") << hand().message();
  EXPECT_TRUE(calls(makePostgresqlStore(asCandidate)).startEnsureSchema()->get().has_value());
  hand().exec("RESET ROLE; ALTER TABLE tenure_lease OWNER TO " + candidate);
  EXPECT_EQ(hand().tryExec(script), "") << "the program has made it itself: " << hand().message();
  for (const std::string& role : {migrator, candidate}) hand().exec("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

TEST_F(PostgresqlStoreTest, manyProcessesMayCreateTheTableAtOnce) {
  for (int round = 0; round < 5; ++round) {
    hand().exec("DROP TABLE tenure_lease");
    std::vector<StoreCalls> handles;
    std::vector<Pending<StoreStatus>> pending;
    for (int i = 0; i < 8; ++i) handles.push_back(calls(makePostgresqlStore(options())));
    for (const StoreCalls& handle : handles) pending.push_back(handle.startEnsureSchema());
    for (const auto& status : pending) {
      EXPECT_TRUE(status->get().has_value()) << (status->get().has_error() ? status->get().error().message : "");
    }
  }
}

TEST_F(PostgresqlStoreTest, aMissingTableSaysHowToMakeIt) {
  hand().exec("DROP TABLE tenure_lease");
  const ReadOutcome read = store().startRead({"lease"})->get();
  ASSERT_TRUE(read.has_error());
  EXPECT_EQ(read.error().errorClass, ErrorClass::misconfigured);
  EXPECT_NE(read.error().message.find("tenure store sql"), std::string::npos) << read.error().message;
  EXPECT_TRUE(std::holds_alternative<Rejected>(store().write(acquire({"lease"}, "a"))));
}

/// A sharded election lists its group twice a second: the server must look at that part of the key's index alone.
TEST_F(PostgresqlStoreTest, aListingReadsTheRangeOfItsPrefix) {
  std::string sql = Statements{schema(), "tenure_lease"}.sql(StatementId::listLeases, true);
  // The server plans each call anew with its values, as these literals.
  for (const auto& [parameter, value] : {std::pair{"$1", "'g/'"}, {"$2", "'g/'"}, {"$3", "''"}, {"$4", "NULL"}}) {
    for (std::size_t at = sql.find(parameter); at != std::string::npos; at = sql.find(parameter)) {
      sql.replace(at, 2, value);
    }
  }
  hand().exec("SET enable_seqscan = off");  // the table is small
  const std::string plan = hand().text("EXPLAIN (COSTS OFF, FORMAT JSON) " + sql);
  EXPECT_NE(plan.find("\"Index Scan\""), std::string::npos) << plan;
  const std::size_t condition = plan.find("\"Index Cond\"");
  ASSERT_NE(condition, std::string::npos) << plan;
  const std::string range = plan.substr(condition, plan.find('\n', condition) - condition);
  EXPECT_NE(range.find("name >= 'g/'::text"), std::string::npos) << range;
  EXPECT_NE(range.find("name < 'g0'::text"), std::string::npos) << range;
}

}  // namespace
}  // namespace tenure::postgresql_store
