#include "ledger.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <thread>

#include <sqlite3.h>

#include <tenure/adapters/sqlite_fence.hpp>

namespace tenure::bench {
namespace {

sqlite3* openFile(const std::string& path) {
  sqlite3* db = nullptr;
  if (sqlite3_open(path.c_str(), &db) != SQLITE_OK) throw std::runtime_error(path + ": " + sqlite3_errmsg(db));
  return db;
}

void run(sqlite3* db, const char* sql) {
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(db));
}

int insertRow(sqlite3* db, const Leadership& term) {
  sqlite3_stmt* insert = nullptr;
  const int prepared = sqlite3_prepare_v2(db, "INSERT INTO ledger(token, holder) VALUES(?1, ?2)", -1, &insert, nullptr);
  if (prepared != SQLITE_OK) return prepared;
  sqlite3_bind_int64(insert, 1, static_cast<sqlite3_int64>(term.fencingToken().value()));
  sqlite3_bind_text(insert, 2, term.holder().c_str(), -1, SQLITE_TRANSIENT);
  sqlite3_step(insert);
  return sqlite3_finalize(insert);
}

}  // namespace

void Ledger::create(const std::string& path) {
  Ledger made{path};
  run(made.db_, "PRAGMA journal_mode=WAL");
  run(made.db_,
      "CREATE TABLE ledger(id INTEGER PRIMARY KEY AUTOINCREMENT, token INTEGER NOT NULL, holder TEXT NOT NULL)");
}

Ledger::Ledger(const std::string& path) : db_{openFile(path)} { run(db_, "PRAGMA synchronous=NORMAL"); }

Ledger::~Ledger() { sqlite3_close(db_); }

bool Ledger::append(const Leadership& term, Slot& slot) {
  auto fence = SqliteFence::open(db_);
  if (fence.has_error()) return true;  // busy: no row, nothing to count
  const auto written = fence->write(TermStamp::of(term), [&](sqlite3* db) { return insertRow(db, term); });
  if (!written.has_error()) {
    slot.rowsAccepted.fetch_add(1);
    return true;
  }
  if (written.error().stale() == nullptr) return true;
  slot.rowsRefused.fetch_add(1);
  return false;
}

void Ledger::appendUntilRefused(const Leadership& term, Slot& slot) {
  const std::stop_token stop = term.stopToken();
  while (!stop.stop_requested() && append(term, slot)) std::this_thread::sleep_for(std::chrono::milliseconds{2});
  append(term, slot);
}

Ledger::Audit Ledger::audit(const std::string& path) {
  const Ledger file{path};
  sqlite3_stmt* rows = nullptr;
  sqlite3_prepare_v2(file.db_, "SELECT token, holder FROM ledger ORDER BY id", -1, &rows, nullptr);
  Audit audit;
  std::map<sqlite3_int64, std::string> owners;
  sqlite3_int64 highest = 0;
  while (sqlite3_step(rows) == SQLITE_ROW) {
    const sqlite3_int64 token = sqlite3_column_int64(rows, 0);
    const std::string holder = reinterpret_cast<const char*>(sqlite3_column_text(rows, 1));
    const bool foreign = owners.try_emplace(token, holder).first->second != holder;
    audit.staleRows += token < highest || foreign ? 1 : 0;
    highest = std::max(highest, token);
    ++audit.rows;
  }
  sqlite3_finalize(rows);
  audit.terms = static_cast<std::int64_t>(owners.size());
  return audit;
}

}  // namespace tenure::bench
