#include "fence_sql.hpp"

#include <stdexcept>
#include <string_view>

#include <tenure/adapters/sqlite_fence.hpp>
#include <tenure/lockcore/lease_record.hpp>

namespace tenure {
namespace sqlite_fence {

// The trigger protects against people who write the guard by hand: not even they can let a former leader in again by
// mistake.
const char* const guardTableSql = R"sql(
CREATE TABLE IF NOT EXISTS tenure_fence_guard(
  lease  TEXT NOT NULL PRIMARY KEY,
  token  INTEGER NOT NULL CHECK(token BETWEEN 0 AND 9007199254740991),  -- the highest seen; lower ones are refused
  holder TEXT NOT NULL,                       -- whose term it is; empty if only plain SQL has written with it
  since  TEXT NOT NULL,                       -- when the token was first seen; for people
  ticket INTEGER NOT NULL DEFAULT 0           -- not 0 only while a fenced write is under way
) STRICT, WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS tenure_fence_guard_rises BEFORE UPDATE OF token ON tenure_fence_guard
WHEN NEW.token < OLD.token
BEGIN
  SELECT RAISE(ABORT, 'tenure: the token of a fence only rises');
END;
)sql";

}  // namespace sqlite_fence

namespace {

std::string sqlQuoted(std::string_view text, char quote) {
  std::string out{quote};
  for (const char c : text) out += c == quote ? std::string(2, c) : std::string{c};
  return out + quote;
}

bool isText(std::string_view text) { return isUtf8(text) && text.find('\0') == std::string_view::npos; }

/// What a trigger does with the token that a new or changed row brings.
constexpr std::string_view comparedToken = R"sql(SELECT RAISE(ABORT, {damaged})
   WHERE (SELECT token FROM tenure_fence_guard WHERE lease = {lease}) > 9007199254740991;
  SELECT RAISE(ABORT, {uncarried})
   WHERE typeof(NEW.{column}) <> 'integer' OR NEW.{column} NOT BETWEEN 1 AND 9007199254740991;
  SELECT RAISE(ABORT, {stale})
   WHERE coalesce(NEW.{column} < (SELECT token FROM tenure_fence_guard WHERE lease = {lease}), 1);
  UPDATE tenure_fence_guard
     SET token = NEW.{column}, holder = '', since = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
   WHERE lease = {lease} AND token < NEW.{column})sql";

/// Replaces each {name} of the templates below.
class Template {
 public:
  Template(const FencedTable& fenced, std::string_view tokenColumn) : fenced_{fenced}, column_{tokenColumn} {}

  [[nodiscard]] std::string fill(std::string_view text) const {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t open = text.find('{', at);
      out += text.substr(at, open - at);
      if (open == std::string_view::npos) break;
      const std::size_t close = text.find('}', open);
      out += value(text.substr(open + 1, close - open - 1));
      at = close + 1;
    }
    return out;
  }

 private:
  [[nodiscard]] std::string value(std::string_view name) const {
    if (name == "compared") return fill(comparedToken);
    if (name == "table") return sqlQuoted(fenced_.table, '"');
    if (name == "column") return sqlQuoted(column_, '"');
    if (name == "lease") return sqlQuoted(fenced_.lease, '\'');
    if (name == "ticket") return fill("(SELECT ticket FROM tenure_fence_guard WHERE lease = {lease})");
    const std::string fencedBy = "tenure: table " + fenced_.table + " is fenced by lease " + fenced_.lease;
    if (name == "unfenced") return sqlQuoted(fencedBy + ": write inside SqliteFence::write", '\'');
    if (name == "undeletable") return sqlQuoted(fencedBy + ": delete inside SqliteFence::write", '\'');
    if (name == "uncarried") {
      return sqlQuoted(fencedBy + ": each INSERT and UPDATE must set " + std::string{column_} + " to its fencing token",
                       '\'');
    }
    if (name == "damaged") {
      return sqlQuoted("tenure: the fence of lease " + fenced_.lease +
                           " remembers what is not a fencing token: tenure fence recover",
                       '\'');
    }
    if (name == "stale") {
      return sqlQuoted("tenure: stale fencing token: a later leader of lease " + fenced_.lease + " has written", '\'');
    }
    // Triggers of one fenced table: tenure_fence_insert_<table> and so on.
    return sqlQuoted("tenure_fence_" + std::string{name} + '_' + fenced_.table, '"');
  }

  const FencedTable& fenced_;
  std::string_view column_;
};

// A lease without a guard row refuses everything. NULL <> 1 is not true, hence the coalesce.
constexpr std::string_view prologue = R"sql(
INSERT OR IGNORE INTO tenure_fence_guard(lease, token, holder, since)
VALUES({lease}, 0, '', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'));
UPDATE tenure_fence_guard SET ticket = 0 WHERE lease = {lease} AND ticket = 2;  -- left by triggers of an older release
DROP TRIGGER IF EXISTS {insert};
DROP TRIGGER IF EXISTS {update};
DROP TRIGGER IF EXISTS {row};
DROP TRIGGER IF EXISTS {updated};
DROP TRIGGER IF EXISTS {named};
DROP TRIGGER IF EXISTS {delete};
CREATE TRIGGER {delete} BEFORE DELETE ON {table}
WHEN coalesce({ticket}, 0) <> 1
BEGIN
  SELECT RAISE(ABORT, {undeletable});
END;
)sql";

constexpr std::string_view closedTable = R"sql(
CREATE TRIGGER {insert} BEFORE INSERT ON {table}
WHEN coalesce({ticket}, 0) <> 1
BEGIN
  SELECT RAISE(ABORT, {unfenced});
END;
CREATE TRIGGER {update} BEFORE UPDATE ON {table}
WHEN coalesce({ticket}, 0) <> 1
BEGIN
  SELECT RAISE(ABORT, {unfenced});
END;
)sql";

// A trigger cannot see which columns an UPDATE names. But a trigger that fires only for a named column can leave a
// ticket for the trigger that asks for one after every row. Both fire after the row was changed, so an UPDATE that
// skips a row (OR IGNORE, RAISE(IGNORE)) leaves none. SQLite fires the trigger that was created last first; if it ever
// did not, every UPDATE would be refused. Should a ticket have been left all the same, it is taken away before the next
// row.
constexpr std::string_view tokenTable = R"sql(
CREATE TRIGGER {insert} BEFORE INSERT ON {table}
WHEN coalesce({ticket}, 0) <> 1
BEGIN
  {compared};
END;
CREATE TRIGGER {update} BEFORE UPDATE OF {column} ON {table}
WHEN coalesce({ticket}, 0) <> 1
BEGIN
  {compared};
END;
CREATE TRIGGER {row} BEFORE UPDATE ON {table}
WHEN {ticket} = 2
BEGIN
  UPDATE tenure_fence_guard SET ticket = 0 WHERE lease = {lease};
END;
CREATE TRIGGER {updated} AFTER UPDATE ON {table}
WHEN coalesce({ticket}, 0) <> 1
BEGIN
  SELECT RAISE(ABORT, {uncarried}) WHERE coalesce({ticket}, 0) <> 2;
  UPDATE tenure_fence_guard SET ticket = 0 WHERE lease = {lease};
END;
CREATE TRIGGER {named} AFTER UPDATE OF {column} ON {table}
WHEN coalesce({ticket}, 0) <> 1
BEGIN
  UPDATE tenure_fence_guard SET ticket = 2 WHERE lease = {lease};
END;
)sql";

}  // namespace

std::string sqliteFenceSql(const FencedTable& fenced, std::string_view tokenColumn) {
  if (const auto faults = faultsOf(LeaseKey{fenced.lease}); !faults.empty()) {
    throw std::invalid_argument{"sqliteFenceSql: " + faults.front()};
  }
  if (fenced.table.empty() || !isText(fenced.table) || !isText(tokenColumn)) {
    throw std::invalid_argument{"sqliteFenceSql: the table is empty, or it or the column is no UTF-8 text without NUL"};
  }
  const Template filled{fenced, tokenColumn};
  return sqlite_fence::guardTableSql + filled.fill(prologue) +
         filled.fill(tokenColumn.empty() ? closedTable : tokenTable);
}

}  // namespace tenure
