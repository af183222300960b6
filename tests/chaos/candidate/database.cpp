#include "database.hpp"

#include <stdexcept>

namespace tenure::chaos {
namespace {

constexpr int setUpSteps = 200;
constexpr int setUpStepMs = 100;
constexpr int writePatienceMs = 500;

/// If several processes change the journal mode at once, SQLite answers "busy" without waiting, to avoid a deadlock.
void setUpTogether(sqlite3* db, const std::string& path, const std::string& sql) {
  sqlite3_busy_timeout(db, setUpStepMs);
  for (int step = 0; execute(db, sql) != SQLITE_OK; ++step) {
    const int code = sqlite3_errcode(db);
    const std::string message = path + ": " + sqlite3_errmsg(db);
    if (sqlite3_get_autocommit(db) == 0) (void)execute(db, "ROLLBACK");
    if (code != SQLITE_BUSY || step == setUpSteps) throw std::runtime_error(message);
    sqlite3_sleep(setUpStepMs / 10);
  }
}

}  // namespace

Database openDatabase(const std::string& path, const std::string& setUp) {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open(path.c_str(), &raw);
  Database db{raw};
  if (opened != SQLITE_OK) throw std::runtime_error(path + ": " + sqlite3_errmsg(raw));
  setUpTogether(raw, path,
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; BEGIN IMMEDIATE; " + setUp + "; COMMIT");
  // For plain writes. The fence waits by itself.
  sqlite3_busy_timeout(raw, writePatienceMs);
  return db;
}

int execute(sqlite3* db, const std::string& sql) noexcept {
  return sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
}

std::optional<std::string> readText(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* select = nullptr;
  if (sqlite3_prepare_v2(db, sql.c_str(), -1, &select, nullptr) != SQLITE_OK) return std::nullopt;
  std::optional<std::string> text;
  if (sqlite3_step(select) == SQLITE_ROW) {
    const unsigned char* column = sqlite3_column_text(select, 0);
    if (column != nullptr) text = reinterpret_cast<const char*>(column);
  }
  sqlite3_finalize(select);
  return text;
}

}  // namespace tenure::chaos
