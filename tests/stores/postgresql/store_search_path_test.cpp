// Defaults of a role or a database reach no statement of the store: a search_path with things before pg_catalog, and
// all others that could change what a statement says or how long it takes.
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "stores/postgresql/link_support.hpp"
#include "stores/postgresql/own_server.hpp"
#include "stores/postgresql/store_support.hpp"

namespace tenure::postgresql_store {
namespace {

/// Types and operators that fit the store's statements better than those of pg_catalog, as they come first.
constexpr const char* evilThings = R"(
  CREATE SCHEMA evil;
  CREATE FUNCTION evil.refuse(pg_catalog.text, pg_catalog.text) RETURNS boolean LANGUAGE plpgsql
    AS $$ BEGIN RAISE 'evil operator'; END $$;
  CREATE FUNCTION evil.join(pg_catalog.text, pg_catalog.text) RETURNS pg_catalog.text LANGUAGE sql
    AS $$ SELECT 'evil'::pg_catalog.text $$;
  CREATE FUNCTION evil.add(bigint, int) RETURNS bigint LANGUAGE sql AS 'SELECT 666::bigint';
  CREATE OPERATOR evil.= (LEFTARG = pg_catalog.text, RIGHTARG = pg_catalog.text, FUNCTION = evil.refuse);
  CREATE OPERATOR evil.<> (LEFTARG = pg_catalog.text, RIGHTARG = pg_catalog.text, FUNCTION = evil.refuse);
  CREATE OPERATOR evil.|| (LEFTARG = pg_catalog.text, RIGHTARG = pg_catalog.text, FUNCTION = evil.join);
  CREATE OPERATOR evil.+ (LEFTARG = bigint, RIGHTARG = int, FUNCTION = evil.add);
)";
constexpr const char* evilTypes =
    "CREATE TYPE evil.text AS (x int); CREATE TYPE evil.jsonb AS (x int); CREATE TYPE evil.timestamptz AS (x int)";

/// All calls, and that they mean what they say.
void serves(StoreCalls store) {
  store.ensureSchema();
  store.ensureSchema();  // it has looked at the table that it made
  const LeaseKey key{"lease"};
  const FencingToken token = store.apply(acquire(key, "a")).token;
  EXPECT_EQ(token, FencingToken{1});
  store.apply(renew(key, "a", {store.record(key).version}));
  WriteRequest withData = renew(key, "a", {store.record(key).version});
  withData.record.data = "payload";
  store.apply(std::move(withData));
  EXPECT_EQ(store.record(key).data, "payload");
  EXPECT_EQ(store.list("").size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Applied>(store.requestStepDown(key, token)));
  store.apply(release(key, "a", {store.record(key).version}));
  EXPECT_EQ(store.apply(acquire(key, "b", {store.record(key).version})).token, token.next());
  EXPECT_TRUE(std::holds_alternative<Conflict>(store.write(acquire(key, "c"))));
  EXPECT_TRUE(std::holds_alternative<Applied>(store.setTokens(key, store.tokens(key), 17)));
  EXPECT_TRUE(std::holds_alternative<Applied>(store.remove(key, store.record(key).version)));
}

TEST(PostgresqlSearchPath, AnotherSchemasOperatorsAndTypesAreNotUsed) {
  const test::OwnServer server;
  const test::OwnPooler pooler{server.directory(), server.port()};
  const auto ledger = std::make_shared<CallLedger>();
  const test::Sql hand{server.connection()};
  hand.exec(evilThings);
  for (const bool types : {false, true}) {
    if (types) hand.exec(evilTypes);
    hand.exec("ALTER DATABASE postgres SET search_path = evil, pg_catalog");
    for (const std::string& connection : {server.connection(), pooler.connection()}) {
      SCOPED_TRACE(connection + (types ? ", types" : ""));
      serves({makePostgresqlStore({.connection = connection}), ledger});
      hand.exec("DROP TABLE public.tenure_lease");
    }
  }
  for (const std::string& fault : ledger->faults()) ADD_FAILURE() << fault;
}

TEST(PostgresqlDefaults, OfTheDatabaseChangeNoStatement) {
  const test::OwnServer server;
  const test::OwnPooler pooler{server.directory(), server.port()};
  const test::Sql hand{server.connection()};
  for (const char* setting : {"quote_all_identifiers = on",
                              "enable_nestloop = off",
                              "enable_indexscan = off",
                              "enable_bitmapscan = off",
                              "random_page_cost = 100000",
                              "jit_above_cost = 0",
                              "jit_inline_above_cost = 0",
                              "jit_optimize_above_cost = 0",
                              "standard_conforming_strings = off",
                              "escape_string_warning = off",
                              "bytea_output = escape",
                              "datestyle = 'SQL, DMY'",
                              "intervalstyle = sql_standard",
                              "timezone = 'Asia/Kathmandu'",
                              "extra_float_digits = -15",
                              "array_nulls = off",
                              "transform_null_equals = on",
                              "default_transaction_isolation = serializable",
                              "default_transaction_deferrable = on",
                              "idle_in_transaction_session_timeout = 60000",
                              "lock_timeout = 1",
                              "row_security = off",
                              "plan_cache_mode = force_custom_plan",
                              "force_parallel_mode = on",
                              "parallel_setup_cost = 0",
                              "parallel_tuple_cost = 0"}) {
    hand.exec(std::string{"ALTER DATABASE postgres SET "} + setting);
  }
  for (const std::string& connection : {server.connection(), pooler.connection()}) {
    SCOPED_TRACE(connection);
    const auto ledger = std::make_shared<CallLedger>();
    serves({makePostgresqlStore({.connection = connection}), ledger});
    for (const std::string& fault : ledger->faults()) ADD_FAILURE() << fault;
    hand.exec("DROP TABLE public.tenure_lease");
  }
}

}  // namespace
}  // namespace tenure::postgresql_store
