#include <stdexcept>

#include <tenure/adapters/postgresql_fence_sql.hpp>
#include <tenure/adapters/sqlite_fence.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/output.hpp"

namespace tenure::cli {
namespace {

std::string scriptFor(const FenceInstallSqlArguments& arguments) {
  const FencedTable fenced{arguments.table, arguments.lease};
  if (arguments.dialect == "sqlite") {
    return sqliteFenceSql(fenced, arguments.tokenColumn);
  }
  return arguments.schema.empty() ? postgresqlFenceSql(fenced) : postgresqlFenceSql(fenced, arguments.schema);
}

}  // namespace

int fenceInstallSqlCommand(const FenceInstallSqlArguments& arguments) {
  const bool sqlite = arguments.dialect == "sqlite";
  if (sqlite && !arguments.schema.empty())
    return refuse("--schema is for postgresql; SQLite has none", "fence install-sql");
  if (!sqlite && !arguments.tokenColumn.empty()) {
    return refuse("--token-column is for sqlite; in PostgreSQL a writer sets tenure.token in its transaction",
                  "fence install-sql");
  }
  const std::size_t dot = arguments.table.find('.');
  if (!sqlite && arguments.schema.empty() && dot != std::string::npos) {
    return refuse("the table's name has a dot; give --schema " + arguments.table.substr(0, dot) + " --table " +
                      arguments.table.substr(dot + 1) + ", or --schema and the whole name if the dot is a part of it",
                  "fence install-sql");
  }
  try {
    const std::string script = scriptFor(arguments);
    // One transaction, so that a script that fails in the middle leaves no table half guarded.
    return say(sqlite ? "BEGIN IMMEDIATE;" + script + "COMMIT;\n" : script) ? exitOk : exitFailed;
  } catch (const std::invalid_argument& fault) {
    return refuse(fault.what(), "fence install-sql");
  }
}

}  // namespace tenure::cli
