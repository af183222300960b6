#include <stdexcept>

#include <tenure/lockcore/stores/postgresql_store.hpp>

#include "lockcore/port/quoted_text.hpp"
#include "lockcore/postgresql/role_trust.hpp"
#include "lockcore/postgresql/sql_template.hpp"
#include "statements.hpp"

namespace tenure {
namespace {

/// GRANT takes "public" for everybody, also in quotes, and lets no role have the name none.
void checkRole(const std::string& role) {
  if (role == "public" || role == "none") {
    throw std::invalid_argument{"the role " + inQuotes(role) + " cannot exist: PostgreSQL reserves the name" +
                                (role == "public" ? " for all roles" : "") +
                                ". Name the role that the program connects as"};
  }
  if (!role.empty() && !postgresql_store::isIdentifier(role)) {
    throw std::invalid_argument{"the role " + inQuotes(role) + " must be 1 to " +
                                std::to_string(postgresql_store::maxIdentifierBytes) +
                                " bytes of UTF-8 text without control characters"};
  }
}

// A table that is there already is kept, so it must not be one that another role has made to catch whoever writes. It
// is the program that writes, so it counts whom its role trusts: the program refuses the table by the same rule.
constexpr std::string_view ownerCheckText = R"sql(
DO {quote}
DECLARE
  owner name := (SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    JOIN pg_database AS d ON d.datname = current_database()
   WHERE n.nspname = {schema} AND c.relname = {table} AND NOT {trusted});
BEGIN
  IF owner IS NOT NULL THEN
    RAISE EXCEPTION 'tenure: table %.% belongs to role %, which could use the rights of role % by a trigger',
      {schema}, {table}, owner, {role}::regrole USING ERRCODE = 'insufficient_privilege', HINT = format('Run this as the '
      'owner of the schema or of the database, or let %s act as the program (GRANT %s TO %1$s). If another has made the '
      'table, find out why, and drop it or give it away (ALTER TABLE ... OWNER TO).', quote_ident(owner), {role}::regrole);
  END IF;
END
{quote};
)sql";

std::string ownerCheck(const PostgresqlStoreOptions& options, const std::string& grantee) {
  const std::string role = postgresql::quotedText(grantee);
  return postgresql::filledSql(ownerCheckText, {{"schema", postgresql::quotedText(options.schema)},
                                                {"table", postgresql::quotedText(options.table)},
                                                {"role", role},
                                                {"trusted", postgresql::trusts("c.relowner", role + "::regrole")}});
}

}  // namespace

std::string postgresqlSchemaSql(const PostgresqlStoreOptions& options, const std::string& role) {
  using namespace postgresql_store;
  checkRole(role);
  const std::string table = qualifiedName(options.schema, options.table);
  const std::string grantee = role.empty() ? "ROLE" : quotedName(role);
  const Statements statements{options.schema, options.table};
  return "BEGIN;\nSET LOCAL search_path = pg_catalog, pg_temp;\nSET LOCAL client_min_messages = warning;\n" +
         statements.sql(StatementId::createTable, false) + ";\n" +
         (role.empty() ? "\n-- Put the program's role in the place of ROLE, everywhere.\n" : "") +
         ownerCheck(options, grantee) +
         "\n"
         "-- The program may read and change rows, and never delete one: a row keeps its lease's fencing counter.\n"
         "GRANT USAGE ON SCHEMA " +
         quotedName(options.schema) + " TO " + grantee + ";\nGRANT SELECT, INSERT, UPDATE ON " + table + " TO " +
         grantee + ";\nCOMMIT;\n";
}

}  // namespace tenure
