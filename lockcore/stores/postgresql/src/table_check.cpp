#include "table_check.hpp"

#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "lockcore/port/quoted_text.hpp"
#include "lockcore/stores/postgresql/src/record_codec.hpp"
#include "statements.hpp"

namespace tenure::postgresql_store {
namespace {

/// As createTable makes them, in alphabetical order. Further columns are allowed.
constexpr std::array<std::string_view, 18> columns{"acquired_at timestamp with time zone",
                                                   "attributes jsonb",
                                                   "counter bigint",
                                                   "counter_history text",
                                                   "counter_lease_ms bigint",
                                                   "data bytea",
                                                   "history text",
                                                   "holder text",
                                                   "layout integer",
                                                   "lease_ms bigint",
                                                   "liveness jsonb",
                                                   "name text",
                                                   "released boolean",
                                                   "renewed_at timestamp with time zone",
                                                   "resign_token bigint",
                                                   "sort text",
                                                   "token bigint",
                                                   "version text"};

std::string missingColumns(const std::string& present) {
  const std::string list = ", " + present + ", ";
  std::string missing;
  for (const std::string_view column : columns) {
    if (list.find(", " + std::string{column} + ", ") != std::string::npos) continue;
    missing += (missing.empty() ? "" : ", ") + std::string{column};
  }
  return missing;
}

/// What others have put on the table and what keeps the store's statements from doing what they say. A trigger may
/// do anything, so none is allowed; those of foreign keys, and what is switched off, do not count.
std::string obstacleIn(const Row& row) {
  if (row[ownerColumn]) {
    return "belongs to role " + inQuotes(*row[ownerColumn]) +
           ", which is not the schema's owner and could use this role's rights by a trigger. Find out who made it; "
           "then "
           "give it to a role that you trust (ALTER TABLE ... OWNER TO), or let its owner act as this role (GRANT)";
  }
  if (row[makersColumn]) {
    return "lets these roles put triggers on it, and so use this role's rights: " + inQuotes(*row[makersColumn]) +
           ". Revoke that right (REVOKE TRIGGER ON ... FROM ...)";
  }
  if (row[rowSecurityColumn] == "t") {
    return "has row-level security, which applies to this role: rows would be hidden and writes refused. Switch it off "
           "(ALTER TABLE ... DISABLE ROW LEVEL SECURITY), or give the role BYPASSRLS";
  }
  if (row[demandsColumn]) {
    return "gets no value from the store for these columns, which are NOT NULL: " + inQuotes(*row[demandsColumn]) +
           ". Give each a default, or drop NOT NULL";
  }
  if (row[rulesColumn]) return "has these rules: " + inQuotes(*row[rulesColumn]) + ". Drop them (DROP RULE)";
  if (row[triggersColumn]) {
    return "has these triggers: " + inQuotes(*row[triggersColumn]) + ". Drop them (DROP TRIGGER), or switch them off";
  }
  if (row[constraintsColumn]) {
    return "has these constraints, which may refuse writes: " + inQuotes(*row[constraintsColumn]) +
           ". Drop them (ALTER TABLE ... DROP CONSTRAINT)";
  }
  if (row[childrenColumn]) {
    return "has these child tables: " + inQuotes(*row[childrenColumn]) +
           ", whose rows would count as leases. Detach them (ALTER TABLE ... NO INHERIT ...)";
  }
  return {};
}

/// What is wrong with the table, and what to do; empty: nothing.
std::string faultIn(const Row& row) {
  if (row[kindColumn] != "r") return "is not an ordinary table. Name another one, or drop it";
  if (row[persistenceColumn] != "p") {
    return "is UNLOGGED or temporary: it would be empty after a crash, and tokens would start again. Make it permanent "
           "(ALTER TABLE ... SET LOGGED)";
  }
  const auto layout = integerFrom(row[defaultLayoutColumn]);
  if (layout > presentLayout) {
    return "has layout " + std::to_string(*layout) + ", and this release of tenure knows " +
           std::to_string(presentLayout) + ". Upgrade tenure";
  }
  if (const std::string missing = missingColumns(row[columnsColumn].value_or("")); !missing.empty()) {
    return "lacks these columns: " + missing + ". It may be another program's; name another one";
  }
  if (row[keyColumn] != "t") return "has no unique index on (name, sort). Add PRIMARY KEY (name, sort)";
  if (row[termKeyColumn] != "t") {
    return "has no unique index on (name, sort, token), so writers cannot hold a term. Add UNIQUE (name, sort, token)";
  }
  if (row[collationColumn] != "t") return "has another collation than \"C\" for name and sort. Create it again";
  if (layout != presentLayout) return "has no default of 1 for column layout. Set it";
  return obstacleIn(row);
}

}  // namespace

TableState tableStateFrom(const Call& call, const Row& row) {
  const std::string table = call.store + ": table " + qualifiedName(call.schema, call.table) + ' ';
  TableState state;
  if (row.size() <= standbyColumn) {
    state.fault = StoreError{ErrorClass::misconfigured, call.store + ": the server's answer has too few columns"};
    return state;
  }
  if (row[standbyColumn] == "t") {
    state.fault = errorOf(call, ServerError{"ERROR", "25006", "this server is a standby"});
    return state;
  }
  state.exists = row[kindColumn].has_value();
  if (!state.exists) return state;
  if (std::string fault = faultIn(row); !fault.empty()) {
    state.fault = StoreError{ErrorClass::misconfigured, table + fault, true};
  } else if (row[grantsColumn] != "t") {
    state.fault = errorOf(call, ServerError{"ERROR", "42501", "the role may not select, insert and update here"});
  }
  return state;
}

namespace {

/// Looks, creates what is missing, and looks again. Several processes may do so at once: of two that create the table
/// at the same moment, the server refuses one by the unique index of a catalogue, even with IF NOT EXISTS.
class SchemaFlow : public std::enable_shared_from_this<SchemaFlow> {
 public:
  SchemaFlow(CorePtr core, const Deadline& deadline, StatusHandler handler)
      : core_{std::move(core)}, deadline_{deadline}, handler_{std::move(handler)} {}

  void look() {
    StoreCore::run(core_, Jobs::readLayout(), deadline_,
                   [self = shared_from_this()](const JobReply& reply) { self->seen(reply); });
  }

 private:
  void seen(const JobReply& reply) {
    const Call call = core_->call("examining the table");
    if (auto fault = faultOfRead(call, reply)) return handler_(std::move(*fault));
    const bool answered = !reply.rows.empty() && !reply.rows.front().empty();
    const TableState state = tableStateFrom(call, answered ? reply.rows.front().front() : Row{});
    if (state.fault) return handler_(*state.fault);
    if (state.exists) return handler_(StoreStatus{});
    if (tried_) return handler_(*tried_);
    create();
  }

  void create() {
    StoreCore::run(core_, Jobs::createTable(), deadline_, [self = shared_from_this()](const JobReply& reply) {
      const Call call = self->core_->call("creating the table");
      const Verdict verdict = verdictOnWrite(call, reply);
      self->tried_ = verdict.fate == Fate::committed
                         ? StoreError{ErrorClass::transient, call.store + ": the table was made, and is gone again"}
                         : verdict.error;
      self->look();
    });
  }

  const CorePtr core_;
  const Deadline deadline_;
  const StatusHandler handler_;
  std::optional<StoreError> tried_{};  ///< why the table is missing although it was to be created
};

}  // namespace

void ensureTable(const CorePtr& core, const Deadline& deadline, StatusHandler handler) {
  std::make_shared<SchemaFlow>(core, deadline, std::move(handler))->look();
}

}  // namespace tenure::postgresql_store
