#include "statements.hpp"

#include <tenure/adapters/postgresql_fence_sql.hpp>

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

}  // namespace

Statements::Statements(const Connection& connection, const PostgresqlFenceOptions& options, const std::string& schema)
    : connection_{connection},
      leases_{options.leaseTable},
      schemaName_{schema},
      table_{connection.identifier(schema) + '.' + guardTableName},
      leaseTable_{leases_ ? connection.identifier(leases_->schema) + '.' + connection.identifier(leases_->table) : ""},
      settings_{limit("lock_timeout", options.lockTimeout) + limit(frozenSetting, options.frozenLimit)},
      begin_{beginText(options.isolation)} {}

std::string Statements::makeTable() const {
  // If two sessions run CREATE ... IF NOT EXISTS at once, one may fail in the catalogue's unique indexes; hence the
  // lock.
  return "BEGIN; SET LOCAL client_min_messages = warning; SELECT pg_advisory_xact_lock(hashtext('" +
         std::string{guardTableName} + "'));" + postgresqlGuardTableSql(schemaName_) + "COMMIT";
}

std::string Statements::look(const std::string& lease) const {
  return "SELECT token, holder FROM " + table_ + " WHERE lease = " + literal(lease);
}

std::string Statements::whereLease(const std::string& lease) const {
  return " FROM " + leaseTable_ + " WHERE name = " + literal(lease) + " AND sort = " + literal(leases_->sortKey);
}

std::string Statements::lookAtLease(const std::string& lease) const {
  return "SELECT token, holder, released, counter" + whereLease(lease);
}

std::string Statements::lockLeaseRow(const TermStamp& stamp) const {
  // KEY SHARE is the weakest lock that a change of `token` waits for, because `token` is part of a unique index. A
  // candidate that finds the row held raises the counter, which passes this lock: no further writer begins then, so
  // those of an earlier term cannot keep it out by overlapping.
  return "SELECT token, holder, released, counter, set_config('" + std::string{frozenSetting} +
         "', least(coalesce(nullif(extract(epoch FROM current_setting('" + frozenSetting +
         "')::interval) * 1000, 0), lease_ms), greatest(lease_ms / 2, 1))::bigint::text, true)" +
         whereLease(stamp.lease) + " AND token = " + toString(stamp.token) +
         " AND counter <= token AND NOT released FOR KEY SHARE";
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
         " AND token >= " + toString(stamp.token) + " FOR SHARE";
}

std::string Statements::remember(const TermStamp& stamp) const {
  return "INSERT INTO " + table_ + " AS guard(lease, token, holder) VALUES(" + literal(stamp.lease) + ", " +
         toString(stamp.token) + ", " + literal(stamp.holder) +
         ") ON CONFLICT (lease) DO UPDATE SET token = excluded.token, holder = excluded.holder, since = CASE WHEN "
         "guard.token < excluded.token THEN excluded.since ELSE guard.since END WHERE guard.token < excluded.token OR "
         "(guard.token = excluded.token AND guard.holder IN ('', excluded.holder)) RETURNING token";
}

std::string Statements::rollBack(bool own) const {
  return own ? "ROLLBACK" : "ROLLBACK TO SAVEPOINT tenure_fence; RELEASE SAVEPOINT tenure_fence";
}

std::string Statements::end(bool own) const {
  return std::string{"RELEASE SAVEPOINT tenure_fence"} + (own ? "; COMMIT" : "");
}

}  // namespace tenure::postgresql_fence
