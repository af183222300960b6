#include <stdexcept>

#include <tenure/lockcore/stores/postgresql_store.hpp>

#include "lockcore/port/quoted_text.hpp"
#include "statements.hpp"

namespace tenure {
namespace {

/// GRANT takes "public" for everybody, also in quotes, and lets no role have the name none.
void checkRole(const std::string& role) {
  if (role == "public" || role == "none") {
    throw std::invalid_argument{"the role " + inQuotes(role) + " is nobody's: PostgreSQL reserves the name" +
                                (role == "public" ? " for everybody" : "") +
                                ". Name the role that the program connects as"};
  }
  if (!role.empty() && !postgresql_store::isIdentifier(role)) {
    throw std::invalid_argument{"the role " + inQuotes(role) + " must be 1 to " +
                                std::to_string(postgresql_store::maxIdentifierBytes) +
                                " bytes of UTF-8 text without control characters"};
  }
}

}  // namespace

std::string postgresqlSchemaSql(const PostgresqlStoreOptions& options, const std::string& role) {
  using namespace postgresql_store;
  checkRole(role);
  const std::string table = qualifiedName(options.schema, options.table);
  const std::string grantee = role.empty() ? "ROLE" : quotedName(role);
  const Statements statements{options.schema, options.table};
  return statements.sql(StatementId::createTable, false) +
         ";\n"
         "\n"
         "-- The program may read and change rows, and never delete one: a row keeps its lease's fencing counter.\n" +
         (role.empty() ? "-- Put the program's role in the place of ROLE.\n" : "") + "GRANT USAGE ON SCHEMA " +
         quotedName(options.schema) + " TO " + grantee + ";\nGRANT SELECT, INSERT, UPDATE ON " + table + " TO " +
         grantee + ";\n";
}

}  // namespace tenure
