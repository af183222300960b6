#include "statements.hpp"

#include <tenure/adapters/postgresql_fence_sql.hpp>

#include "adapters/fence/src/postgresql_guard.hpp"

namespace tenure::postgresql_fence {
namespace {

constexpr const char* frozenSetting = "idle_in_transaction_session_timeout";

std::string beginText(PostgresqlIsolation isolation) {
  switch (isolation) {
    case PostgresqlIsolation::sessionDefault:
      return "BEGIN";
    case PostgresqlIsolation::readCommitted:
      return "BEGIN ISOLATION LEVEL READ COMMITTED";
    case PostgresqlIsolation::repeatableRead:
      return "BEGIN ISOLATION LEVEL REPEATABLE READ";
    case PostgresqlIsolation::serializable:
      return "BEGIN ISOLATION LEVEL SERIALIZABLE";
  }
  return "BEGIN";
}

std::string limit(const char* setting, std::chrono::milliseconds value) {
  if (value <= std::chrono::milliseconds{0}) return {};
  return "; SET LOCAL " + std::string{setting} + " = " + std::to_string(value.count());
}

std::string checked(const std::string& query) {
  return std::string{"BEGIN READ ONLY; "} + postgresqlGuardSettings + ' ' + query + "; COMMIT";
}

std::string number(FencingToken token) { return toString(token) + "::bigint"; }

}  // namespace

Statements::Statements(const Connection& connection, const PostgresqlFenceOptions& options, const std::string& schema)
    : connection_{connection},
      leases_{options.leaseTable},
      schemaName_{schema},
      table_{connection.identifier(schema) + '.' + guardTableName},
      leaseTable_{leases_ ? connection.identifier(leases_->schema) + '.' + connection.identifier(leases_->table) : ""},
      settings_{limit("lock_timeout", options.lockTimeout) + limit(frozenSetting, options.frozenLimit)},
      begin_{beginText(options.isolation)} {}

std::string Statements::checkTable() const { return checked(postgresqlGuardFault(schemaName_)); }

std::string Statements::checkLeaseTable() const {
  return checked(postgresqlLeaseTableFault(leases_->schema, leases_->table));
}

std::string Statements::makeTable() const { return "BEGIN; " + postgresqlGuardTableSql(schemaName_) + "COMMIT"; }

std::string Statements::look(const std::string& lease) const {
  return "SELECT token, holder FROM " + table_ + " WHERE lease OPERATOR(pg_catalog.=) " + text(lease);
}

std::string Statements::whereLease(const std::string& lease) const {
  return " FROM " + leaseTable_ + " WHERE name OPERATOR(pg_catalog.=) " + text(lease) +
         " AND sort OPERATOR(pg_catalog.=) " + text(leases_->sortKey);
}

std::string Statements::lookAtLease(const std::string& lease) const {
  return "SELECT token, holder, released, counter" + whereLease(lease);
}

std::string Statements::lockLeaseRow(const TermStamp& stamp) const {
  // KEY SHARE is the weakest lock that a change of `token` waits for, because `token` is part of a unique index. A
  // candidate that finds the row held raises the counter, which passes this lock: no further writer begins then, so
  // those of an earlier term cannot keep it out by overlapping.
  const std::string limit = "pg_catalog.current_setting('" + std::string{frozenSetting} + "')::interval";
  const std::string limitInMs = "pg_catalog.date_part('epoch', " + limit + ") OPERATOR(pg_catalog.*) 1000::float8";
  return "SELECT token, holder, released, counter, pg_catalog.set_config('" + std::string{frozenSetting} +
         "', least(CASE WHEN " + limit + " OPERATOR(pg_catalog.>) '0'::interval THEN (" + limitInMs +
         ")::bigint ELSE lease_ms END, greatest(lease_ms OPERATOR(pg_catalog./) 2::bigint, 1::bigint))"
         "::pg_catalog.text, true)" +
         whereLease(stamp.lease) + " AND token OPERATOR(pg_catalog.=) " + number(stamp.token) +
         " AND counter OPERATOR(pg_catalog.<=) token AND NOT released FOR KEY SHARE";
}

std::string Statements::begin(const TermStamp& stamp, bool own) const {
  // The settings are for tables with our triggers (fence_sql), so that these accept what the work writes.
  return (own ? begin_ + settings_ + "; " : std::string{}) +
         "SAVEPOINT tenure_fence; SET LOCAL tenure.lease = " + literal(stamp.lease) + "; SET LOCAL tenure.token = '" +
         toString(stamp.token) + "'; SET LOCAL tenure.holder = " + literal(stamp.holder) + "; " +
         (checksLease() ? lockLeaseRow(stamp) + "; " : std::string{}) + look(stamp.lease) +
         // Writes of one term share the row lock; a later term waits for them. If two transactions locked the row and
         // then raised the token, one would be the victim of a deadlock. So only those that will not raise it take the
         // lock.
         " AND token OPERATOR(pg_catalog.>=) " + number(stamp.token) + " FOR SHARE";
}

std::string Statements::remember(const TermStamp& stamp) const {
  return "INSERT INTO " + table_ + " AS guard(lease, token, holder) VALUES(" + literal(stamp.lease) + ", " +
         toString(stamp.token) + ", " + literal(stamp.holder) +
         ") ON CONFLICT (lease) DO UPDATE SET token = excluded.token, holder = excluded.holder, since = CASE WHEN "
         "guard.token OPERATOR(pg_catalog.<) excluded.token THEN excluded.since ELSE guard.since END "
         "WHERE guard.token OPERATOR(pg_catalog.<) excluded.token OR (guard.token OPERATOR(pg_catalog.=) "
         "excluded.token AND (guard.holder OPERATOR(pg_catalog.=) ''::pg_catalog.text OR "
         "guard.holder OPERATOR(pg_catalog.=) excluded.holder)) RETURNING token";
}

std::string Statements::rollBack(bool own) const {
  return own ? "ROLLBACK" : "ROLLBACK TO SAVEPOINT tenure_fence; RELEASE SAVEPOINT tenure_fence";
}

std::string Statements::end(bool own) const {
  // `error` would hide the warning by which the server tells that a wait for a synchronous standby was cancelled. The
  // setting ends with the transaction.
  return std::string{"RELEASE SAVEPOINT tenure_fence"} +
         (own ? "; SELECT pg_catalog.set_config('client_min_messages'::pg_catalog.text, 'warning'::pg_catalog.text, "
                "true) "
                "WHERE pg_catalog.current_setting('client_min_messages'::pg_catalog.text) OPERATOR(pg_catalog.=) "
                "'error'::pg_catalog.text; COMMIT"
              : "");
}

}  // namespace tenure::postgresql_fence
