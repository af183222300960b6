#include "database.hpp"

#include <stdexcept>

namespace tenure::chaos {
namespace {

constexpr int setUpPatienceMs = 20'000;
constexpr int writePatienceMs = 500;

}  // namespace

Database openDatabase(const std::string& path, const std::string& setUp) {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open(path.c_str(), &raw);
  Database db{raw};
  if (opened != SQLITE_OK) throw std::runtime_error(path + ": " + sqlite3_errmsg(raw));
  sqlite3_busy_timeout(raw, setUpPatienceMs);
  if (execute(raw, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; BEGIN IMMEDIATE; " + setUp + "; COMMIT") !=
      SQLITE_OK) {
    throw std::runtime_error(path + ": " + sqlite3_errmsg(raw));
  }
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
