// The leases' table as a PostgreSQL store keeps it, and what candidates do with its rows, in plain SQL.
#pragma once

#include <cstdint>
#include <string>

#include <tenure/adapters/postgresql_fence.hpp>
#include <tenure/lockcore/fence.hpp>

#include "adapters/postgresql_database.hpp"

namespace tenure::test {

class PostgresqlLeases {
 public:
  /// Works on the table of this schema, by a connection of its own. It waits for row locks for 200 ms, no longer.
  explicit PostgresqlLeases(const std::string& schema) : database_{schema} { database_.exec("SET lock_timeout = 200"); }

  static std::string tableSql() {
    return "CREATE TABLE tenure_lease(name text COLLATE \"C\", sort text COLLATE \"C\" NOT NULL DEFAULT '',"
           " counter bigint NOT NULL, token bigint, version text, holder text, lease_ms bigint, released boolean,"
           " renewed_at timestamptz, PRIMARY KEY(name, sort), UNIQUE(name, sort, token)) WITH (fillfactor = 50)";
  }
  static PostgresqlFenceOptions checkedBy(const std::string& schema, PostgresqlFenceOptions options = {}) {
    options.leaseTable = PostgresqlLeaseTable{.schema = schema};
    return options;
  }

  /// As a takeover does. The SQLSTATE, or empty if it was done; a row that has this token or a later one stays.
  [[nodiscard]] std::string tryTakeOver(const TermStamp& term, std::int64_t leaseMs = 60'000) const {
    const std::string token = toString(term.token);
    return database_.tryExec(
        "INSERT INTO tenure_lease AS l(name, counter, token, version, holder, lease_ms, released)"
        " VALUES(" +
        literal(term.lease) + ", " + token + ", " + token + ", 'v', " + literal(term.holder) + ", " +
        std::to_string(leaseMs) +
        ", false) ON CONFLICT(name, sort) DO UPDATE SET counter = excluded.counter, token ="
        " excluded.token, holder = excluded.holder, lease_ms = excluded.lease_ms, released = false"
        " WHERE l.counter < excluded.counter");
  }
  [[nodiscard]] std::string tryRenew() const {
    return database_.tryExec("UPDATE tenure_lease SET version = version || 'v', renewed_at = clock_timestamp()");
  }
  /// As a candidate does that a write keeps out.
  [[nodiscard]] std::string tryAnnounce() const {
    return database_.tryExec("UPDATE tenure_lease SET counter = token + 1");
  }
  [[nodiscard]] std::string tryRelease() const { return database_.tryExec("UPDATE tenure_lease SET released = true"); }
  [[nodiscard]] std::string tryRemove() const {
    return database_.tryExec(
        "UPDATE tenure_lease SET token = NULL, version = NULL, holder = NULL, lease_ms = NULL, released = NULL");
  }
  [[nodiscard]] const PostgresqlConnection& database() const noexcept { return database_; }

 private:
  [[nodiscard]] std::string literal(const std::string& text) const {
    char* quoted = PQescapeLiteral(database_.raw(), text.data(), text.size());
    std::string out = quoted == nullptr ? "NULL" : quoted;
    PQfreemem(quoted);
    return out;
  }

  PostgresqlConnection database_;
};

}  // namespace tenure::test
