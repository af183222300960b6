#include "schema.hpp"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

#include <sqlite3.h>

#include "connection.hpp"
#include "errors.hpp"
#include "record_codec.hpp"

namespace tenure::sqlite_store {
namespace {

// The stored times are in milliseconds; the readable ones beside them are computed when somebody reads them.
constexpr const char* tables = R"sql(
CREATE TABLE IF NOT EXISTS tenure_meta(
  key   TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS tenure_lease(
  name            TEXT NOT NULL,
  sort_key        TEXT NOT NULL DEFAULT '',
  state           TEXT NOT NULL,     -- held or released
  holder          TEXT NOT NULL,     -- name#incarnation
  token           INTEGER NOT NULL,  -- fencing token of the holder's term
  lease_ms        INTEGER NOT NULL,
  record_version  TEXT NOT NULL,     -- new at each write of the holder
  acquired_at     TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', acquired_at_ms / 1000.0, 'unixepoch')),
  renewed_at      TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', renewed_at_ms / 1000.0, 'unixepoch')),
  step_down_token INTEGER,           -- the term that was asked to step down
  acquired_at_ms  INTEGER NOT NULL DEFAULT 0,
  renewed_at_ms   INTEGER NOT NULL DEFAULT 0,
  beacon_id       TEXT,              -- the holder's liveness file
  beacon_device   INTEGER,
  beacon_inode    INTEGER,
  boot_id         TEXT,
  data            BLOB,              -- the user's
  attributes      TEXT,              -- the user's, a JSON object of strings
  PRIMARY KEY(name, sort_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS tenure_fence(  -- never deleted from: tokens rise for the life of the table
  name     TEXT NOT NULL,
  sort_key TEXT NOT NULL DEFAULT '',
  token    INTEGER NOT NULL,
  lease_ms INTEGER,                       -- of the last term, until it has ended cleanly; NULL: none is open
  PRIMARY KEY(name, sort_key)
) STRICT, WITHOUT ROWID;

INSERT OR IGNORE INTO tenure_meta(key, value) VALUES('schema_version', '1');
)sql";

StoreError wrongVersion(const std::string& store, const std::string& found) {
  return {ErrorClass::misconfigured,
          store + ": the tables have schema version " + found + ", and this version of tenure knows " +
              std::to_string(schemaVersion) + "; upgrade tenure here, or use another file",
          true};
}

StoreResult<void> checkEncoding(const std::string& store, Connection& connection) {
  std::optional<std::string> encoding;
  if (const int code = connection.queryText("PRAGMA encoding", encoding); code != SQLITE_OK) {
    return sqliteError(store, "reading the text encoding", code, connection);
  }
  if (encoding == "UTF-8") return {};
  // Keys are compared and ordered as bytes of UTF-8.
  return StoreError{ErrorClass::misconfigured,
                    store + ": the database's text encoding is " + encoding.value_or("unknown") +
                        "; tenure needs UTF-8, so give it a separate file",
                    true};
}

StoreResult<void> checkVersion(const std::string& store, Connection& connection) {
  std::optional<std::string> version;
  const int code = connection.queryText("SELECT value FROM tenure_meta WHERE key = 'schema_version'", version);
  if (code != SQLITE_OK) return sqliteError(store, "reading the schema version", code, connection);
  if (!version) return wrongVersion(store, "(none)");
  std::int64_t number = 0;
  const char* const end = version->data() + version->size();
  const auto [rest, fault] = std::from_chars(version->data(), end, number);
  if (fault != std::errc{} || rest != end || number != schemaVersion) return wrongVersion(store, *version);
  return {};
}

/// Whether `table` exists; if so, it must be a table with these columns.
StoreResult<bool> hasTable(const std::string& store, Connection& connection, const std::string& table,
                           const std::string& columns) {
  std::optional<std::string> found;
  int code = connection.queryText(
      ("SELECT type FROM sqlite_schema WHERE type <> 'trigger' AND name = 'tenure_" + table + "'").c_str(), found);
  if (code == SQLITE_OK && found && found != "table") {
    return StoreError{ErrorClass::misconfigured,
                      store + ": tenure_" + table + " is " + (found == "index" ? "an " : "a ") + *found +
                          " and not a table; drop it, or use a separate file for tenure",
                      true};
  }
  if (code == SQLITE_OK && found) {
    std::optional<std::string> none;
    code = connection.queryText(("SELECT " + columns + " FROM tenure_" + table + " AS " + table + " LIMIT 0").c_str(),
                                none);
  }
  if (code != SQLITE_OK) return sqliteError(store, "reading the schema", code, connection);
  return found.has_value();
}

/// Looks whether tenure_fence has the column lease_ms, which the first releases did not create. Returns a code of
/// SQLite.
int lookForLeaseColumn(Connection& connection, bool& exists) {
  std::optional<std::string> row;
  const int code = connection.queryText("SELECT 1 FROM pragma_table_info('tenure_fence') WHERE name = 'lease_ms'", row);
  exists = row.has_value();
  return code;
}

}  // namespace

StoreResult<Schema> lookAtSchema(const std::string& store, Connection& connection) {
  const StoreResult<bool> meta = hasTable(store, connection, "meta", "key, value");
  if (meta.has_error()) return meta.error();
  if (auto fit = checkEncoding(store, connection); fit.has_error()) return fit.error();
  if (*meta) {
    if (auto fit = checkVersion(store, connection); fit.has_error()) return fit.error();
  }
  const StoreResult<bool> leases = hasTable(store, connection, "lease", recordColumns);
  if (leases.has_error()) return leases.error();
  const StoreResult<bool> fence = hasTable(store, connection, "fence", "name, sort_key, token");
  if (fence.has_error()) return fence.error();
  bool hasLeaseColumn = false;
  if (const int code = lookForLeaseColumn(connection, hasLeaseColumn); code != SQLITE_OK) {
    return sqliteError(store, "reading the schema", code, connection);
  }
  const bool complete = *meta && *leases && *fence;
  const bool partial = !complete && (*meta || *leases || *fence);
  return Schema{.complete = complete, .partial = partial, .hasOpenLease = hasLeaseColumn};
}

StoreResult<void> createSchema(const std::string& store, Connection& connection) {
  int code = connection.run("BEGIN IMMEDIATE");
  if (code == SQLITE_OK) code = connection.run(tables);
  bool hasLeaseColumn = false;
  if (code == SQLITE_OK) code = lookForLeaseColumn(connection, hasLeaseColumn);
  // For a file that an older release created. That release still works with it, because its statements name their
  // columns.
  if (code == SQLITE_OK && !hasLeaseColumn)
    code = connection.run("ALTER TABLE tenure_fence ADD COLUMN lease_ms INTEGER");
  if (code == SQLITE_OK) code = connection.run("COMMIT");
  if (code == SQLITE_OK) return {};
  return sqliteError(store, "creating the tables", code, connection);  // the caller closes, which rolls back
}

}  // namespace tenure::sqlite_store
