#include <stdexcept>

#include <tenure/adapters/postgresql_fence_sql.hpp>
#include <tenure/adapters/sqlite_fence.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/output.hpp"

namespace tenure::cli {
namespace {

struct FenceInstallSqlArguments {
  std::string dialect;  ///< postgresql or sqlite
  std::string table;
  std::string lease;
  std::string schema{};       ///< postgresql; empty: public
  std::string tokenColumn{};  ///< sqlite
};

std::string scriptFor(const FenceInstallSqlArguments& arguments) {
  const FencedTable fenced{arguments.table, arguments.lease};
  if (arguments.dialect == "sqlite") {
    return sqliteFenceSql(fenced, arguments.tokenColumn);
  }
  return arguments.schema.empty() ? postgresqlFenceSql(fenced) : postgresqlFenceSql(fenced, arguments.schema);
}

int execute(const FenceInstallSqlArguments& arguments) {
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
    // One transaction, so that a script that ends in the middle leaves no table half guarded. SQLite's shell continues
    // after an error unless it has -bail, as the page says.
    return say(sqlite ? "BEGIN IMMEDIATE;" + script + "COMMIT;\n" : script) ? exitOk : exitFailed;
  } catch (const std::invalid_argument& fault) {
    return refuse(fault.what(), "fence install-sql");
  }
}

}  // namespace

Command fenceCommand() {
  return {.name = "fence",
          .summary = "keep former leaders from a resource",
          .exits = {{"0", "done"}, {"1", "failed"}, {"2", "wrong arguments"}}};
}

Command fenceInstallSqlCommand() {
  const auto declare = [](Options& options, FenceInstallSqlArguments& to) {
    options.oneOf("--dialect DIALECT", to.dialect, {"postgresql", "sqlite"}, "postgresql (14 or later) or sqlite")
        .required()
        .text("--table TABLE", to.table, "one name, as it is; it will be quoted")
        .required()
        .text("--lease NAME", to.lease, "the lease's name, as in the group's file")
        .required()
        .text("--schema SCHEMA", to.schema, "postgresql: where the table is (public)")
        .text("--token-column COLUMN", to.tokenColumn, "sqlite: an integer column of the table");
  };
  return {
      .name = "fence install-sql",
      .summary = "print SQL by which a database guards a table of yours",
      .about =
          R"(Prints a script for a DBA or a migration: a table that remembers the highest fencing token, and triggers by which
the database itself refuses writes without a token and writes of former terms, whoever sends them. It may be run again.

With postgresql a writer names its term in each transaction that writes:
  SET LOCAL tenure.token = '...';    the value of $TENURE_FENCING_TOKEN
With sqlite each row carries the token of its writer in COLUMN; without one only programs that write through the library
(SqliteFence) get in.)",
      .exits = {{"0", "printed"}, {"1", "failed"}, {"2", "wrong arguments"}},
      .examples = {R"(tenure fence install-sql --dialect postgresql --table pay --lease billing \)",
                   R"(    | psql --set ON_ERROR_STOP=1 "$DATABASE_URL")"},
      .options = optionsOf<FenceInstallSqlArguments>(declare, execute),
  };
}

}  // namespace tenure::cli
