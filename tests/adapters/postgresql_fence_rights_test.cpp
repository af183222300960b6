// Whose code runs with whose rights: what a role that may create objects in the fence's schema can make of the fence.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/adapters/postgresql_fence.hpp>
#include <tenure/adapters/postgresql_fence_sql.hpp>

#include "adapters/former_postgresql_fence_sql.hpp"
#include "adapters/postgresql_database.hpp"
#include "adapters/postgresql_lease_table.hpp"

namespace tenure {
namespace {

/// A DBA, who is superuser, and mallory, who may create objects in the schema and write the table `pay`.
class PostgresqlFenceRights : public testing::Test {
 protected:
  PostgresqlFenceRights() {
    dba_.exec("CREATE ROLE " + mallory_ + " LOGIN; GRANT USAGE, CREATE ON SCHEMA " + schema_.name() + " TO " +
              mallory_ + "; CREATE TABLE pay(id int, v text); GRANT SELECT, INSERT, UPDATE ON pay TO " + mallory_);
    crook_.exec("SET SESSION AUTHORIZATION " + mallory_);
  }
  ~PostgresqlFenceRights() override {
    crook_.exec("RESET SESSION AUTHORIZATION");
    dba_.exec("RESET ROLE; ALTER SCHEMA " + schema_.name() +
              " OWNER TO CURRENT_USER; SET client_min_messages = error; "
              "DROP OWNED BY " +
              mallory_ + " CASCADE; DROP ROLE " + mallory_);
  }
  PostgresqlFenceRights(const PostgresqlFenceRights&) = delete;
  PostgresqlFenceRights& operator=(const PostgresqlFenceRights&) = delete;

  /// Empty, or the SQLSTATE of the script's first error; its text is then in told().
  [[nodiscard]] std::string install(const std::string& table = "pay") {
    const std::string state = dba_.tryExec(postgresqlFenceSql({table, "billing"}, schema_.name()));
    told_ = dba_.message();
    if (!state.empty()) dba_.exec("ROLLBACK");
    return state;
  }
  [[nodiscard]] bool tells(const std::string& part) const { return told_.find(part) != std::string::npos; }
  [[nodiscard]] bool malloryIsSuperuser() const {
    return dba_.text("SELECT rolsuper FROM pg_roles WHERE rolname = '" + mallory_ + "'") == "t";
  }
  /// The SQLSTATE of a write with this token.
  [[nodiscard]] std::string pays(const test::PostgresqlConnection& by, const std::string& token) const {
    std::string state = by.tryExec("BEGIN; SET LOCAL tenure.token = '" + token + "'; INSERT INTO " + schema_.name() +
                                   ".pay VALUES(1, 'x'); COMMIT");
    if (!state.empty()) by.exec("ROLLBACK");
    return state;
  }
  [[nodiscard]] std::string trap(const std::string& name, const std::string& arguments, const std::string& returns,
                                 const std::string& value) const {
    return "CREATE FUNCTION " + schema_.name() + '.' + name + '(' + arguments + ") RETURNS " + returns +
           " LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'ALTER ROLE " + mallory_ + " SUPERUSER'; RETURN " + value +
           "; END $$;";
  }
  /// Operators and functions that fit better than those of pg_catalog, or as well; each makes mallory superuser.
  void setTraps() const {
    std::string traps = trap("current_setting", "text, boolean", "text", "'1'") +
                        trap("current_setting", "varchar, boolean", "text", "'1'") +
                        trap("set_config", "text, text, boolean", "text", "'1'") +
                        trap("date_part", "text, interval", "float8", "1") + trap("hashtext", "text", "int", "1") +
                        trap("format", "text, text", "text", "''") + trap("quote_ident", "text", "text", "''");
    int number = 0;
    for (const std::string types :
         {"numeric, bigint", "numeric, numeric", "numeric, int", "bigint, bigint", "bigint, int", "int, bigint",
          "text, text", "text, varchar", "name, text", "oid, oid", "float8, float8"}) {
      const std::string name = "evil" + std::to_string(++number);
      traps += trap(name, types, "boolean", "false");
      for (const char* sign : {">", ">=", "<", "<=", "<>", "=", "~", "!~", "*", "/", "||"}) {
        traps += "CREATE OPERATOR " + schema_.name() + '.' + sign + " (LEFTARG = " + types.substr(0, types.find(',')) +
                 ", RIGHTARG = " + types.substr(types.find(',') + 2) + ", FUNCTION = " + schema_.name() + '.' + name +
                 ");";
      }
    }
    crook_.exec(traps);
  }
  [[nodiscard]] std::string openFault(const test::PostgresqlConnection& by, PostgresqlFenceOptions options = {}) const {
    options.schema = schema_.name();
    auto fence = PostgresqlFence::open(by.raw(), std::move(options));
    return fence ? std::string{} : FenceError{fence.error()}.message;
  }

  const test::PostgresqlSchema schema_;
  const std::string mallory_ = "mallory_" + schema_.name();
  const test::PostgresqlConnection dba_{schema_.name()};
  const test::PostgresqlConnection crook_{schema_.name()};
  std::string told_;
};

TEST_F(PostgresqlFenceRights, anOperatorOrAFunctionOfAnotherRoleIsNotCalled) {
  ASSERT_EQ(install(), "");
  EXPECT_EQ(pays(dba_, "9"), "");
  setTraps();
  crook_.exec(
      "CREATE TEMP TABLE tenure_fence_guard(lease text, token bigint, holder text); CREATE TYPE pg_temp.text AS (x "
      "int); CREATE DOMAIN pg_temp.int8 AS numeric");
  for (const std::string& path :
       {schema_.name(), "pg_temp, " + schema_.name() + ", pg_catalog", schema_.name() + ", pg_catalog, pg_temp"}) {
    crook_.exec("SET search_path = " + path);
    EXPECT_EQ(pays(crook_, "1"), postgresqlStaleState) << path;
    EXPECT_EQ(pays(crook_, "x"), postgresqlUnfencedState) << path;
    EXPECT_EQ(pays(crook_, "9"), "") << path;
  }
  EXPECT_FALSE(malloryIsSuperuser());
}

TEST_F(PostgresqlFenceRights, theScriptsCallNothingThatIsOnTheInstallersPath) {
  setTraps();
  dba_.exec("SET search_path = " + schema_.name() + ", pg_catalog");
  EXPECT_EQ(install(), "") << told_;
  EXPECT_EQ(install(), "") << told_;
  dba_.exec(postgresqlSetFenceSql(schema_.name(), {"billing", FencingToken{7}, "tenure fence recover"}));
  EXPECT_EQ(pays(crook_, "6"), postgresqlStaleState);
  EXPECT_FALSE(malloryIsSuperuser());
}

TEST_F(PostgresqlFenceRights, aFencesStatementsCallNothingThatIsOnTheWritersPath) {
  dba_.exec(test::PostgresqlLeases::tableSql());
  const test::PostgresqlLeases leases{schema_.name()};
  ASSERT_EQ(leases.tryTakeOver({"billing", FencingToken{5}, "a#1"}), "");
  setTraps();
  dba_.exec("SET search_path = " + schema_.name() + ", pg_catalog");
  const auto work = [](PGconn* connection) {
    return PostgresqlResult{PQexec(connection, "INSERT INTO pay VALUES(1)")};
  };
  for (const bool checksLease : {false, true}) {
    auto options = checksLease ? test::PostgresqlLeases::checkedBy(schema_.name()) : PostgresqlFenceOptions{};
    auto fence = PostgresqlFence::open(dba_.raw(), options);
    ASSERT_TRUE(fence.has_value()) << FenceError{fence.error()}.message;
    for (const std::uint64_t token : {5U, 5U, 4U}) {
      const auto written = fence->write({"billing", FencingToken{token}, "a#1"}, work);
      EXPECT_EQ(written.has_value(), token == 5) << token;
    }
  }
  EXPECT_FALSE(malloryIsSuperuser());
  dba_.exec("SELECT 1::bigint > 2::bigint");
  EXPECT_TRUE(malloryIsSuperuser()) << "the traps work";
}

TEST_F(PostgresqlFenceRights, aTableOfLeasesThatAnotherRoleMadeIsNotRead) {
  crook_.exec(test::PostgresqlLeases::tableSql());
  const PostgresqlFenceOptions options = test::PostgresqlLeases::checkedBy(schema_.name());
  EXPECT_NE(openFault(dba_, options).find("belongs to role " + mallory_), std::string::npos)
      << openFault(dba_, options);
  crook_.exec("DROP TABLE tenure_lease; CREATE TABLE leases(x int);" + trap("look", "", "bigint", "1") +
              "CREATE VIEW tenure_lease AS SELECT 'billing'::text AS name, ''::text AS sort, look() AS token, "
              "'a#1'::text AS holder, false AS released, 1::bigint AS counter, 1::bigint AS lease_ms FROM leases");
  EXPECT_NE(openFault(dba_, options).find("is not an ordinary table"), std::string::npos) << openFault(dba_, options);
  EXPECT_FALSE(malloryIsSuperuser());
}

TEST_F(PostgresqlFenceRights, aTableThatAnotherRoleMadeIsRefusedUntilAllOfItIsOurs) {
  crook_.exec(
      "CREATE TABLE tenure_fence_guard(lease text COLLATE \"C\" PRIMARY KEY, token bigint NOT NULL, "
      "holder text COLLATE \"C\" NOT NULL DEFAULT '', since timestamptz NOT NULL DEFAULT clock_timestamp());" +
      trap("t", "", "trigger", "NEW") +
      "CREATE TRIGGER t BEFORE INSERT ON tenure_fence_guard FOR EACH ROW EXECUTE FUNCTION t()");
  EXPECT_EQ(install(), "42501");
  EXPECT_TRUE(tells("belongs to role " + mallory_)) << told_;
  EXPECT_TRUE(tells("ALTER TABLE " + schema_.name() + ".tenure_fence_guard OWNER TO")) << "the remedy: " << told_;
  EXPECT_EQ(pays(crook_, "1"), "") << "nothing was installed";
  dba_.exec("ALTER TABLE tenure_fence_guard OWNER TO CURRENT_USER");
  EXPECT_NE(install(), "");
  EXPECT_TRUE(tells("drop t")) << told_;
  dba_.exec("DROP TRIGGER t ON tenure_fence_guard");
  EXPECT_EQ(install(), "") << told_;
  EXPECT_EQ(pays(crook_, "1"), "");
  EXPECT_FALSE(malloryIsSuperuser());
}

TEST_F(PostgresqlFenceRights, aFunctionThatAnotherRoleMadeIsRefused) {
  for (const std::string name : {"tenure_fence_check", "tenure_fence_rises"}) {
    crook_.exec(trap(name, "", "trigger", "NULL"));
    EXPECT_EQ(install(), "42501") << name;
    EXPECT_TRUE(tells("function " + name + "() in schema " + schema_.name() + " belongs to role " + mallory_)) << told_;
    EXPECT_NE(openFault(dba_).find(mallory_), std::string::npos) << "open() makes the table: " << openFault(dba_);
    crook_.exec("DROP FUNCTION " + name);
  }
  EXPECT_EQ(install(), "");
}

TEST_F(PostgresqlFenceRights, theScriptLeavesNoRightByWhichOthersCouldReachTheOwners) {
  dba_.exec("ALTER DEFAULT PRIVILEGES IN SCHEMA " + schema_.name() + " GRANT ALL ON TABLES TO " + mallory_ +
            ", PUBLIC; ALTER DEFAULT PRIVILEGES IN SCHEMA " + schema_.name() + " GRANT EXECUTE ON FUNCTIONS TO " +
            mallory_);
  ASSERT_EQ(install(), "") << told_;
  crook_.exec(trap("t", "", "trigger", "NEW"));
  EXPECT_EQ(crook_.tryExec("CREATE TRIGGER t BEFORE INSERT ON tenure_fence_guard FOR EACH ROW EXECUTE FUNCTION t()"),
            "42501");
  for (const std::string sql : {"DELETE FROM tenure_fence_guard", "TRUNCATE tenure_fence_guard",
                                "CREATE TABLE mine(lease text REFERENCES tenure_fence_guard)",
                                "CREATE TABLE own(x int); CREATE TRIGGER x BEFORE INSERT ON own EXECUTE FUNCTION "
                                "tenure_fence_check('billing')"}) {
    EXPECT_EQ(crook_.tryExec(sql), "42501") << sql;
  }
  EXPECT_EQ(crook_.tryExec("SELECT FROM tenure_fence_guard"), "") << "what writers of the library need stays";
  EXPECT_EQ(dba_.text("SELECT count(*) FROM pg_proc WHERE pronamespace = '" + schema_.name() +
                      "'::regnamespace AND proname LIKE 'tenure_fence%' AND "
                      "array_to_string(proconfig, '') = 'search_path=pg_catalog, pg_temp'"),
            "2");
}

TEST_F(PostgresqlFenceRights, theScriptBringsAnInstallationOfAnOlderReleaseToTheNewForm) {
  std::string former = test::formerPostgresqlFenceSql;
  const std::string place{"SCHEMA"};
  for (std::size_t at = 0; (at = former.find(place, at)) != std::string::npos;) {
    former.replace(at, place.size(), schema_.name());
  }
  dba_.exec("ALTER DEFAULT PRIVILEGES IN SCHEMA " + schema_.name() + " GRANT ALL ON TABLES TO " + mallory_);
  dba_.exec(former);
  EXPECT_EQ(pays(dba_, "9"), "");
  setTraps();
  EXPECT_EQ(pays(crook_, "9"), "");
  EXPECT_TRUE(malloryIsSuperuser()) << "the traps work";
  dba_.exec("ALTER ROLE " + mallory_ + " NOSUPERUSER");
  EXPECT_EQ(install(), "") << told_;
  EXPECT_EQ(pays(crook_, "8"), postgresqlStaleState) << "it remembers what it has seen";
  EXPECT_EQ(pays(crook_, "10"), "");
  EXPECT_FALSE(malloryIsSuperuser());
  EXPECT_EQ(crook_.tryExec("DELETE FROM tenure_fence_guard"), "42501");
  EXPECT_EQ(openFault(dba_), "");
}

TEST_F(PostgresqlFenceRights, aSchemaOfAnotherRoleGetsThatRolesRightsAndNoOthers) {
  ASSERT_EQ(install(), "");
  EXPECT_EQ(pays(dba_, "5"), "");
  dba_.exec("ALTER SCHEMA " + schema_.name() + " OWNER TO " + mallory_);  // who may now replace all that is in it
  ASSERT_EQ(install(), "") << "an installation of a superuser's is handed over: " << told_;
  const std::string owners =
      "SELECT string_agg(DISTINCT owner, ' ') FROM (SELECT proowner::regrole::text AS owner FROM "
      "pg_proc WHERE pronamespace = '" +
      schema_.name() +
      "'::regnamespace AND proname LIKE 'tenure_fence%' UNION ALL "
      "SELECT relowner::regrole::text FROM pg_class WHERE oid = 'tenure_fence_guard'::regclass) AS all_of_it";
  EXPECT_EQ(dba_.text(owners), mallory_);
  EXPECT_EQ(pays(crook_, "4"), postgresqlStaleState) << "the memory stays";
  EXPECT_EQ(pays(crook_, "6"), "");
  crook_.exec(
      "DROP TABLE tenure_fence_guard CASCADE; CREATE TABLE tenure_fence_guard(lease text PRIMARY KEY, token bigint, "
      "holder text, since timestamptz);" +
      trap("t", "", "trigger", "NEW") +
      "CREATE TRIGGER t BEFORE INSERT ON tenure_fence_guard FOR EACH ROW EXECUTE FUNCTION t()");
  EXPECT_EQ(pays(dba_, "7"), "42501") << "the trap has no rights but mallory's own";
  EXPECT_FALSE(malloryIsSuperuser());
}

TEST_F(PostgresqlFenceRights, anInstallerWhoIsNotTheSchemasOwnerIsRefused) {
  const std::string tenant = "tenant_" + schema_.name();
  dba_.exec("CREATE ROLE " + tenant + "; GRANT USAGE, CREATE ON SCHEMA " + schema_.name() + " TO " + tenant +
            "; ALTER TABLE pay OWNER TO " + tenant + "; SET ROLE " + tenant);
  EXPECT_EQ(install(), "") << "a superuser owns the schema: " << told_;
  dba_.exec("RESET ROLE; DROP OWNED BY " + tenant +
            " CASCADE; CREATE TABLE pay(id int); GRANT USAGE, CREATE ON SCHEMA " + schema_.name() + " TO " + tenant +
            "; ALTER TABLE pay OWNER TO " + tenant + "; ALTER SCHEMA " + schema_.name() + " OWNER TO " + mallory_ +
            "; SET ROLE " + tenant);
  EXPECT_EQ(install(), "42501");
  EXPECT_TRUE(tells("Run this as the schema's owner or as a superuser")) << told_;
  dba_.exec("RESET ROLE");
  EXPECT_EQ(install(), "") << told_;
  dba_.exec("DROP OWNED BY " + tenant + " CASCADE; DROP ROLE " + tenant);
}

/// What a table that a fence may use never has, and what the message names.
const std::vector<std::pair<std::string, std::string>> additions{
    {"ALTER TABLE tenure_fence_guard ADD COLUMN note text", "has other columns"},
    {"ALTER TABLE tenure_fence_guard ALTER holder SET DEFAULT current_user", "has other columns or defaults"},
    {"ALTER TABLE tenure_fence_guard ADD COLUMN g text GENERATED ALWAYS AS (lease || '') STORED", "has other columns"},
    {"ALTER TABLE tenure_fence_guard ALTER lease TYPE text COLLATE \"POSIX\"", "has other columns"},
    {"ALTER TABLE tenure_fence_guard ENABLE ROW LEVEL SECURITY", "row-level security"},
    {"CREATE POLICY p ON tenure_fence_guard USING (true)", "row-level security"},
    {"CREATE RULE r AS ON INSERT TO tenure_fence_guard DO ALSO NOTHING", "has rules: drop r"},
    {"CREATE TRIGGER other BEFORE UPDATE ON tenure_fence_guard FOR EACH ROW EXECUTE FUNCTION "
     "pg_catalog.suppress_redundant_updates_trigger()",
     "drop other"},
    {"ALTER TABLE tenure_fence_guard ADD CONSTRAINT odd CHECK (token < 7)",
     "other constraints than a fence's: drop odd"},
    {"ALTER TABLE tenure_fence_guard DROP CONSTRAINT tenure_fence_guard_pkey", "lacks its key"},
    {"CREATE INDEX i ON tenure_fence_guard (lower(holder))", "indexes other than its key"},
    {"CREATE TABLE heir() INHERITS (tenure_fence_guard)", "inherits from or to other tables"},
    {"ALTER TABLE tenure_fence_guard SET UNLOGGED", "not an ordinary permanent table"},
    {"ALTER TABLE tenure_fence_guard RENAME TO old; CREATE VIEW tenure_fence_guard AS SELECT * FROM old",
     "not an ordinary permanent table"}};

TEST_F(PostgresqlFenceRights, whatIsNotTheFencesOwnIsRefusedWithItsName) {
  for (const auto& [change, part] : additions) {
    SCOPED_TRACE(change);
    dba_.exec("DROP SCHEMA " + schema_.name() + " CASCADE; CREATE SCHEMA " + schema_.name() +
              "; CREATE TABLE pay(x int)");
    ASSERT_EQ(install(), "") << told_;
    ASSERT_EQ(openFault(dba_), "");
    dba_.exec(change);
    EXPECT_NE(install(), "");
    if (part != "not an ordinary permanent table") {
      EXPECT_TRUE(tells(part)) << told_;
    }
    const std::string fault = openFault(dba_);
    EXPECT_NE(fault.find(part), std::string::npos) << fault;
  }
}

TEST_F(PostgresqlFenceRights, aFenceIsNotOpenedOnATableOfARoleThatTheWriterDoesNotTrust) {
  crook_.exec("BEGIN;" + postgresqlGuardTableSql(schema_.name()) + "COMMIT");
  const std::string writer = "writer_" + schema_.name();
  dba_.exec("CREATE ROLE " + writer + "; GRANT USAGE ON SCHEMA " + schema_.name() + " TO " + writer +
            "; GRANT SELECT, INSERT, UPDATE ON tenure_fence_guard TO " + writer);
  EXPECT_NE(openFault(dba_).find("belongs to role " + mallory_), std::string::npos) << openFault(dba_);
  EXPECT_EQ(openFault(crook_), "") << "it is its own";
  dba_.exec("SET ROLE " + writer);
  EXPECT_NE(openFault(dba_).find("(ALTER TABLE ... OWNER TO)"), std::string::npos) << openFault(dba_);
  dba_.exec("RESET ROLE; GRANT " + writer + " TO " + mallory_ + "; SET ROLE " + writer);
  EXPECT_EQ(openFault(dba_), "") << "who may act as the writer anyway gets nothing by it";
  dba_.exec("RESET ROLE; REVOKE " + writer + " FROM " + mallory_ + "; ALTER SCHEMA " + schema_.name() + " OWNER TO " +
            mallory_ + "; SET ROLE " + writer);
  EXPECT_EQ(openFault(dba_), "") << "the schema's owner could put another table in its place";
  dba_.exec("RESET ROLE; ALTER SCHEMA " + schema_.name() +
            " OWNER TO CURRENT_USER; ALTER TABLE tenure_fence_guard OWNER "
            "TO CURRENT_USER; ALTER FUNCTION tenure_fence_rises OWNER TO CURRENT_USER; SET ROLE " +
            writer);
  EXPECT_EQ(openFault(dba_), "");
  dba_.exec("RESET ROLE; GRANT TRIGGER ON tenure_fence_guard TO " + mallory_ + "; SET ROLE " + writer);
  EXPECT_NE(openFault(dba_).find("REVOKE TRIGGER ON it FROM " + mallory_), std::string::npos) << openFault(dba_);
  dba_.exec("RESET ROLE; REVOKE TRIGGER ON tenure_fence_guard FROM " + mallory_ +
            "; ALTER FUNCTION tenure_fence_rises "
            "OWNER TO " +
            mallory_ + "; SET ROLE " + writer);
  EXPECT_NE(openFault(dba_).find("drop tenure_fence_guard_rises"), std::string::npos) << openFault(dba_);
  dba_.exec("RESET ROLE; DROP OWNED BY " + writer + "; DROP ROLE " + writer);
}

TEST_F(PostgresqlFenceRights, theRepairOfAMemoryThatIsNotOursIsRefused) {
  crook_.exec("BEGIN;" + postgresqlGuardTableSql(schema_.name()) + "COMMIT");
  crook_.exec(trap("t", "", "trigger", "OLD") +
              "CREATE TRIGGER t BEFORE DELETE ON tenure_fence_guard FOR EACH ROW EXECUTE FUNCTION t();"
              "INSERT INTO tenure_fence_guard(lease, token) VALUES('billing', 99)");
  const std::string repair =
      postgresqlSetFenceSql(schema_.name(), {"billing", FencingToken{7}, "tenure fence recover"});
  EXPECT_NE(dba_.tryExec(repair), "");
  EXPECT_NE(dba_.message().find("belongs to role " + mallory_), std::string::npos) << dba_.message();
  dba_.exec("ROLLBACK");
  EXPECT_FALSE(malloryIsSuperuser());
}

}  // namespace
}  // namespace tenure
