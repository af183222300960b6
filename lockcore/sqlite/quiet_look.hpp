// A look at a database that may be another program's: nothing of it is created, changed, recovered or checkpointed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <sqlite3.h>

#include "statement.hpp"

namespace tenure::sqlite {

namespace quiet_look {

struct Close {
  void operator()(sqlite3* database) const noexcept { sqlite3_close_v2(database); }
};

/// A file's name in a URI of SQLite's.
inline std::string uriOf(const std::string& path, const char* options) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string uri{"file://"};
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '%' || c == '?' || c == '#') {
      uri.append({'%', digits[byte >> 4U], digits[byte & 15U]});
    } else {
      uri += c;
    }
  }
  return uri + options;
}

/// What the query counts; nothing if the file cannot be read as a database.
inline std::int64_t counted(const std::string& uri, const char* query, std::string_view first,
                            std::string_view second) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(uri.c_str(), &raw, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  const std::unique_ptr<sqlite3, Close> database{raw};
  sqlite3_stmt* prepared = nullptr;
  if (code != SQLITE_OK || sqlite3_prepare_v2(raw, query, -1, &prepared, nullptr) != SQLITE_OK) return 0;
  Statement count{prepared};
  return count.bind(1, first).bind(2, second).step() == SQLITE_ROW ? count.integer(0) : 0;
}

inline std::string spaced(std::initializer_list<std::string_view> names) {
  std::string text{' '};
  for (const std::string_view name : names) text.append(name) += ' ';
  return text;
}

/// Whether the query counts that many in the regular file, or in its log.
inline bool counts(const std::string& file, const char* query, std::string_view first, std::string_view second,
                   std::int64_t least) {
  std::error_code none;
  const std::filesystem::path path = std::filesystem::canonical(file, none);
  if (none || !std::filesystem::is_regular_file(path, none)) return false;
  if (counted(uriOf(path, "?immutable=1"), query, first, second) >= least) return true;
  // Here SQLite would make an index of the log if there were none.
  const bool hasLog =
      std::filesystem::exists(path.string() + "-wal", none) && std::filesystem::exists(path.string() + "-shm", none);
  return hasLog && counted(uriOf(path, "?mode=ro"), query, first, second) >= least;
}

}  // namespace quiet_look

/// Whether the regular file is a database with such a table, which may have further columns. Without locks, and without
/// the journal: a table of which only the write-ahead log knows is seen if a program has the database open, or was
/// killed while it had.
inline bool holdsTable(const std::string& file, std::string_view table,
                       std::initializer_list<std::string_view> columns) {
  return quiet_look::counts(file,
                            "SELECT count(*) FROM sqlite_master AS t, pragma_table_info(t.name) AS c "
                            "WHERE t.type = 'table' AND t.name = ?1 AND instr(?2, ' ' || c.name || ' ') > 0",
                            table, quiet_look::spaced(columns), static_cast<std::int64_t>(columns.size()));
}

/// Whether it has a table, a view or a trigger besides these tables, in the same sense.
inline bool holdsMoreThan(const std::string& file, std::initializer_list<std::string_view> tables) {
  return quiet_look::counts(file,
                            "SELECT count(*) FROM sqlite_master WHERE name NOT LIKE ?1 ESCAPE '#' "
                            "AND instr(?2, ' ' || name || ' ') = 0",
                            "sqlite#_%", quiet_look::spaced(tables), 1);
}

}  // namespace tenure::sqlite
