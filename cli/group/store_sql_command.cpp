// `tenure store sql`: the SQL of a store's table, for people whose programs may not create tables.
#include <algorithm>
#include <stdexcept>

#include <tenure/config/group_config.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/output.hpp"
#include "config/src/schema.hpp"
#include "config/src/store_types.hpp"
#include "config_file.hpp"

namespace tenure::cli {
namespace {

using config::StoreType;

struct StoreSqlArguments {
  std::string config{};   ///< the store is that of this file; empty: `dialect` says which
  std::string dialect{};  ///< a store.type
  std::string schema{};   ///< with `dialect` only; empty: the store's default
  std::string table{};    ///< with `dialect` only; empty: the store's default
  std::string role{};     ///< who gets the rights; empty: the one that the file names, or a placeholder
};

std::string dialects() {
  std::vector<std::string> names;
  for (const StoreType& type : config::storeTypes()) {
    if (type.schemaSql) names.push_back(type.name);
  }
  return names.empty() ? "none" : config::listed(names);
}

const StoreType* storeNamed(const std::string& name) {
  const auto& all = config::storeTypes();
  const auto found = std::find_if(all.begin(), all.end(), [&](const StoreType& type) { return type.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string noSqlText(const std::string& type) {
  return "store.type " + type + " makes what it needs and has no SQL; there is SQL for " + dialects();
}

/// Why there is no SQL for this --dialect; empty: there is.
std::string faultOfDialect(const std::string& dialect) {
  if (const std::string why = config::whyWithout(dialect); !why.empty()) {
    return "--dialect: this build does not have the store " + dialect + " (" + why + ")";
  }
  const StoreType* type = storeNamed(dialect);
  if (type == nullptr) return "--dialect: " + inQuotes(dialect) + " is not known; known is " + dialects();
  return type->schemaSql ? std::string{} : "--dialect: " + noSqlText(dialect);
}

/// The store of --dialect, of which faultOfDialect() has found none, with its defaults, and the schema and the table
/// that were given.
StoreConfig storeOfArguments(const StoreSqlArguments& arguments) {
  const StoreType& type = *storeNamed(arguments.dialect);
  GroupConfig config;
  config.store = type.defaults;
  for (const config::KeySpec& spec : type.keys) {
    // Nothing to report here: any text is of the keys' kind, and print() judges the names.
    if (spec.key.path == "store.schema" && !arguments.schema.empty()) (void)spec.set(arguments.schema, config);
    if (spec.key.path == "store.table" && !arguments.table.empty()) (void)spec.set(arguments.table, config);
  }
  return config.store;
}

/// For a store that has SQL. Only one of the arguments can have faults: those of a file were reported when it was read.
int print(const StoreConfig& store, const std::string& role) {
  const StoreType& type = config::typeOf(store);
  const OptionFaults faults = type.faults(store);
  for (const OptionFault& fault : faults) {
    complain("--" + config::nameIn(config::keyOf("store." + fault.field)) + ": " + fault.message);
  }
  if (!faults.empty()) return refuse("nothing was printed", "store sql");
  try {
    return say(type.schemaSql(store, role)) ? exitOk : exitFailed;
  } catch (const std::invalid_argument& badRole) {
    return refuse(badRole.what(), "store sql");
  }
}

int execute(const StoreSqlArguments& arguments) {
  if (!arguments.dialect.empty()) {
    if (const std::string fault = faultOfDialect(arguments.dialect); !fault.empty()) return refuse(fault, "store sql");
  }
  // Where there is no file, there is a dialect: the options ask for one of them.
  if (arguments.config.empty()) return print(storeOfArguments(arguments), arguments.role);
  if (!arguments.schema.empty() || !arguments.table.empty()) {
    return refuse("the file says schema and table; give --schema and --table with --dialect alone", "store sql");
  }
  const auto config = loadOrComplain(arguments.config);
  if (!config) return exitUsage;
  const StoreType& type = config::typeOf(config->store);
  if (!type.schemaSql) return refuse(arguments.config + ": " + noSqlText(type.name), "store sql");
  if (!arguments.dialect.empty() && arguments.dialect != type.name) {
    return refuse(arguments.config + ": store.type is " + type.name + ", not " + arguments.dialect, "store sql");
  }
  return print(config->store, arguments.role);
}

}  // namespace

Command storeCommand() {
  return {.name = "store",
          .summary = "print the SQL that a store needs, for a DBA",
          .exits = {{"0", "done"}, {"1", "failed"}}};
}

Command storeSqlCommand() {
  const auto declare = [](Options& options, StoreSqlArguments& to) {
    options
        .groupFile(to.config, false, {&to.dialect, "; or give --dialect postgresql"},
                   "the group's YAML file, whose store is postgresql (or set TENURE_CONFIG)")
        .given("--dialect DIALECT", to.dialect, "postgresql (14 or later), if there is no file yet", "name")
        .given("--schema SCHEMA", to.schema, "where the table is (public)", "name")
        .given("--table TABLE", to.table, "its name (tenure_lease)", "name")
        .given("--role ROLE", to.role,
               "who gets the rights: the role of the candidates. If it is not given: store.user of the file, or a "
               "placeholder",
               "name");
  };
  return {
      .name = "store sql",
      .summary = "print the SQL of a store's table and of the rights on it",
      .about =
          R"(Prints a script for a DBA or a migration: the table of the leases, if it is not there, and exactly the rights that
candidates need on it. It may be run again. Nothing is connected to. A program whose role may create the table needs
none of this: it creates the table itself.)",
      .exits = {{"0", "printed"},
                {"1", "failed"},
                {"2", "wrong arguments or configuration, or a store that needs no SQL"}},
      .examples = {R"(tenure store sql --config group.yaml --role scheduler \)",
                   R"(    | psql --set ON_ERROR_STOP=1 "$DATABASE_URL")"},
      .options = optionsOf<StoreSqlArguments>(declare, execute),
  };
}

}  // namespace tenure::cli
