// The table of the PostgreSQL store with one row, and what each of the store's statements does to it. The server's SQL
// is in statements.cpp; here is the same in C++, and sim_lease_table_test.cpp compares the two.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lockcore/stores/postgresql/src/database.hpp"

namespace tenure::test {

/// The columns of the row. What is NULL there is empty here.
struct LeaseRow {
  using Number = std::optional<std::int64_t>;
  using Text = std::optional<std::string>;

  std::string name{}, sort{};
  std::int64_t counter{0}, counterLease{0};
  Text counterHistory{};
  Number token{};
  Text version{}, holder{};
  Number lease{};
  std::optional<bool> released{};
  Text history{};
  std::int64_t resign{0};
  Text liveness{};
  std::string data{}, attributes{"{}"};
  Number acquiredAt{}, renewedAt{};
  std::int64_t layout{1};

  friend bool operator==(const LeaseRow&, const LeaseRow&) = default;
};

/// What a statement answers.
struct StatementAnswer {
  std::vector<postgresql_store::Row> rows{};
  std::string sqlState{};  ///< of an ERROR; empty: none
};

class LeaseTable {
 public:
  std::optional<LeaseRow> row{};
  std::string history{};  ///< `SYSTEM/TIMELINE` of the server
  bool locked{false};     ///< by another transaction
  bool shared{false};     ///< by a writer that holds the term, FOR KEY SHARE

  /// Whether the check of a writer finds this term's row: this token, not released, and no takeover announced.
  [[nodiscard]] bool admits(std::int64_t token) const;
  /// Throws std::logic_error for statements that no lease needs.
  [[nodiscard]] StatementAnswer run(const postgresql_store::Statement& statement);
  [[nodiscard]] postgresql_store::Row columns() const;

 private:
  using Values = std::vector<postgresql_store::Value>;

  [[nodiscard]] bool at(const Values& values) const;
  [[nodiscard]] bool isAsSeen(const Values& values) const;
  static void put(LeaseRow& row, const Values& values);
  [[nodiscard]] postgresql_store::Row written() const;
  [[nodiscard]] StatementAnswer read(const Values& values) const;
  [[nodiscard]] StatementAnswer readMany(const Values& values) const;
  [[nodiscard]] StatementAnswer change(const Values& values, bool refused, bool inHistory);
  [[nodiscard]] StatementAnswer renewMany(const Values& values);
  [[nodiscard]] StatementAnswer insert(const Values& values);
};

/// `{"a",NULL,"b"}`
[[nodiscard]] std::vector<postgresql_store::Value> listFrom(const postgresql_store::Value& literal);

}  // namespace tenure::test
