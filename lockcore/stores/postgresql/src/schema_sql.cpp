#include <tenure/lockcore/stores/postgresql_store.hpp>

#include "statements.hpp"

namespace tenure {

std::string postgresqlSchemaSql(const PostgresqlStoreOptions& options, const std::string& role) {
  using namespace postgresql_store;
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
