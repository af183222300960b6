// The SQL of a fenced write, as text. Nothing is prepared, so poolers and resets do no harm.
#pragma once

#include <optional>
#include <string>

#include <tenure/adapters/postgresql_fence.hpp>

#include "connection.hpp"

namespace tenure::postgresql_fence {

inline constexpr const char* guardTableName = "tenure_fence_guard";

class Statements {
 public:
  Statements(const Connection& connection, const PostgresqlFenceOptions& options, const std::string& schema);

  /// The query of postgresqlGuardFault(), in a transaction of its own: its answer is the last but one.
  [[nodiscard]] std::string checkTable() const;
  /// The same for the leases' table.
  [[nodiscard]] std::string checkLeaseTable() const;
  /// Creates the table where it is missing, in a transaction of its own.
  [[nodiscard]] std::string makeTable() const;
  [[nodiscard]] std::string look(const std::string& lease) const;
  /// Whether writes check the lease's row. begin() then has lockLeaseRow() in it, before the fence's row.
  [[nodiscard]] bool checksLease() const noexcept { return leases_.has_value(); }
  /// Returns the lease's row and locks it, if it shows this term, is not released, and no takeover was announced.
  [[nodiscard]] std::string lockLeaseRow(const TermStamp& stamp) const;
  /// The lease's row as it is, without a lock.
  [[nodiscard]] std::string lookAtLease(const std::string& lease) const;
  /// For people: `table "public".tenure_fence_guard`.
  [[nodiscard]] std::string tableName() const { return "table " + table_; }
  /// The same: `table "public"."tenure_lease"`.
  [[nodiscard]] std::string leaseTableName() const { return "table " + leaseTable_; }
  /// Begins (own: a transaction; else a savepoint in the caller's transaction), and reads and locks the fence's row.
  [[nodiscard]] std::string begin(const TermStamp& stamp, bool own) const;
  /// Returns a row if the stamp is now the highest. Without a row, another writer was quicker.
  [[nodiscard]] std::string remember(const TermStamp& stamp) const;
  [[nodiscard]] std::string rollBack(bool own) const;
  /// Fails if anybody has ended the transaction since begin().
  [[nodiscard]] std::string end(bool own) const;

 private:
  [[nodiscard]] std::string literal(const std::string& text) const { return connection_.literal(text); }
  /// With its type. Every name and operator says its schema: the session's search path is the caller's, and operators
  /// of others may be on it.
  [[nodiscard]] std::string text(const std::string& value) const { return literal(value) + "::pg_catalog.text"; }
  [[nodiscard]] std::string whereLease(const std::string& lease) const;

  const Connection& connection_;
  std::optional<PostgresqlLeaseTable> leases_;
  std::string schemaName_, table_, leaseTable_, settings_, begin_;
};

}  // namespace tenure::postgresql_fence
