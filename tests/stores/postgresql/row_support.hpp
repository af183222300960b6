// Rows of the table, as a server answers them.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "lockcore/stores/postgresql/src/jobs.hpp"

namespace tenure::postgresql_store {

inline const Place testPlace{"postgresql jobs at db1", "\"public\".\"tenure_lease\""};

inline Row goodRow() {
  Row row(leaseColumnCount);
  row[nameColumn] = "billing";
  row[sortColumn] = "eu";
  row[versionColumn] = "v";
  row[holderColumn] = "a#1";
  row[tokenColumn] = "7";
  row[leaseColumn] = "10000";
  row[releasedColumn] = "f";
  row[resignColumn] = "0";
  row[livenessColumn] = R"({"id": "0a", "inode": "5", "device": "18446744073709551615", "boot_id": "b"})";
  row[dataColumn] = "00ff";
  row[attributesColumn] = R"({"zone": "eu"})";
  row[acquiredAtColumn] = "0.005000";
  row[renewedAtColumn] = "0.006000";
  row[historyColumn] = "1/1";
  row[counterColumn] = "7";
  row[counterLeaseColumn] = "10000";
  row[counterHistoryColumn] = "1/1";
  row[layoutColumn] = "1";
  row[presentHistoryColumn] = "1/1";
  return row;
}

/// Of a lease whose record was removed after its term had ended.
inline Row removedRow() {
  Row row = goodRow();
  for (const auto column : {versionColumn, holderColumn, tokenColumn, releasedColumn, livenessColumn}) row[column] = {};
  row[counterLeaseColumn] = "0";
  return row;
}

inline std::shared_ptr<const RowState> stateOf(Row row) {
  return std::make_shared<const RowState>(leaseFrom(testPlace, std::move(row)).value());
}

/// The statement that carries a decision out; empty: it needs none.
inline std::optional<Statement> statementOf(const RowState& seen, const LeaseKey& key,
                                            const stored::Decision& decision) {
  const auto* change = std::get_if<stored::Change>(&decision);
  if (change == nullptr) return std::nullopt;
  const RowState next = stateAfter(testPlace, seen, key, *change);
  return Jobs::write(rowChangeOf(seen, *change, next), false).statements.front();
}

}  // namespace tenure::postgresql_store
