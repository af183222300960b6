// The SQL of a fenced write, as text: nothing is prepared, so that poolers and resets do no harm.
#pragma once

#include <string>

#include <tenure/adapters/postgresql_fence.hpp>

#include "connection.hpp"

namespace tenure::postgresql_fence {

inline constexpr const char* guardTableName = "tenure_fence_guard";

class Statements {
 public:
  Statements(const Connection& connection, const PostgresqlFenceOptions& options, const std::string& schema);

  /// Makes the table where it is missing; in one transaction of its own.
  [[nodiscard]] std::string makeTable() const;
  [[nodiscard]] std::string look(const std::string& lease) const;
  /// Begins (own: a transaction; else a part of the caller's), and reads and locks the fence's row.
  [[nodiscard]] std::string begin(const TermStamp& stamp, bool own) const;
  /// Gives a row if the stamp is the highest now; without one somebody else has come before.
  [[nodiscard]] std::string remember(const TermStamp& stamp) const;
  [[nodiscard]] std::string rollBack(bool own) const;
  /// Fails if somebody has ended the transaction since begin().
  [[nodiscard]] std::string end(bool own) const;

 private:
  [[nodiscard]] std::string literal(const std::string& text) const { return connection_.literal(text); }

  const Connection& connection_;
  std::string schemaName_, table_, settings_, begin_;
};

}  // namespace tenure::postgresql_fence
