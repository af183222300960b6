// A downstream resource for tests, and its judge.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenure/lockcore/fence.hpp>

#include "adapters/test_database.hpp"

namespace tenure::test {

/// Each write adds a row to one table and changes a row of another, so that half a write is noticed.
inline void makeLedger(const TestDatabase& database) {
  database.exec(
      "CREATE TABLE ledger(id INTEGER PRIMARY KEY AUTOINCREMENT, token INTEGER NOT NULL, holder TEXT NOT NULL);"
      "CREATE TABLE summary(writes INTEGER NOT NULL, token INTEGER NOT NULL);"
      "INSERT INTO summary VALUES(0, 0)");
}

inline int writeLedger(sqlite3* database, const TermStamp& stamp) {
  const std::string token = toString(stamp.token);
  return sqlite3_exec(database,
                      ("UPDATE summary SET writes = writes + 1, token = " + token +
                       "; INSERT INTO ledger(token, holder) VALUES(" + token + ", '" + stamp.holder + "')")
                          .c_str(),
                      nullptr, nullptr, nullptr);
}

/// What must never be in a ledger behind a fence; empty if there are no faults. Knows nothing about how the writers
/// work.
inline std::vector<std::string> faultsOfLedger(const TestDatabase& reader) {
  std::vector<std::string> faults;
  const auto expectNone = [&](const std::string& what, const std::string& count) {
    if (const auto found = reader.number(count); found != 0) faults.push_back(std::to_string(found) + ' ' + what);
  };
  reader.exec("BEGIN");  // one snapshot for all questions
  expectNone("rows whose token is lower than the one before",
             "SELECT count(*) FROM (SELECT token < lag(token) OVER (ORDER BY id) AS down FROM ledger) WHERE down");
  expectNone("tokens with two holders",
             "SELECT count(*) FROM (SELECT token FROM ledger GROUP BY token HAVING count(DISTINCT holder) > 1)");
  expectNone("writes were done by half", "SELECT abs((SELECT count(*) FROM ledger) - (SELECT writes FROM summary))");
  expectNone(
      "away is the summary's token from the ledger's last",
      "SELECT abs((SELECT token FROM summary) - coalesce((SELECT token FROM ledger ORDER BY id DESC LIMIT 1), 0))");
  expectNone("away is the guard's token from the ledger's last",
             "SELECT abs(coalesce((SELECT token FROM tenure_fence_guard), 0)"
             " - coalesce((SELECT token FROM ledger ORDER BY id DESC LIMIT 1), 0))");
  expectNone("tickets were left", "SELECT count(*) FROM tenure_fence_guard WHERE ticket <> 0");
  reader.exec("COMMIT");
  if (const std::string check = reader.text("PRAGMA integrity_check"); check != "ok") faults.push_back(check);
  return faults;
}

}  // namespace tenure::test
