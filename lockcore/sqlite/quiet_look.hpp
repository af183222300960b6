// A look at a database that may be another program's: nothing of it is created, changed, recovered or checkpointed.
#pragma once

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

inline bool holds(const std::string& uri, std::string_view table, std::initializer_list<std::string_view> columns) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(uri.c_str(), &raw, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  const std::unique_ptr<sqlite3, Close> database{raw};
  sqlite3_stmt* prepared = nullptr;
  if (code != SQLITE_OK ||
      sqlite3_prepare_v2(raw,
                         "SELECT count(*) FROM sqlite_master AS t, pragma_table_info(t.name) AS c "
                         "WHERE t.type = 'table' AND t.name = ?1 AND instr(?2, ' ' || c.name || ' ') > 0",
                         -1, &prepared, nullptr) != SQLITE_OK) {
    return false;
  }
  std::string names{' '};
  for (const std::string_view column : columns) names.append(column) += ' ';
  Statement count{prepared};
  return count.bind(1, table).bind(2, std::string_view{names}).step() == SQLITE_ROW &&
         count.integer(0) == static_cast<std::int64_t>(columns.size());
}

}  // namespace quiet_look

/// Whether the regular file is a database with such a table, which may have further columns. Without locks, and without
/// the journal: a table of which only the write-ahead log knows is seen if a program has the database open, or was
/// killed while it had.
inline bool holdsTable(const std::string& file, std::string_view table,
                       std::initializer_list<std::string_view> columns) {
  std::error_code none;
  const std::filesystem::path path = std::filesystem::canonical(file, none);
  if (none || !std::filesystem::is_regular_file(path, none)) return false;
  if (quiet_look::holds(quiet_look::uriOf(path, "?immutable=1"), table, columns)) return true;
  // Here SQLite would make an index of the log if there were none.
  const bool hasLog =
      std::filesystem::exists(path.string() + "-wal", none) && std::filesystem::exists(path.string() + "-shm", none);
  return hasLog && quiet_look::holds(quiet_look::uriOf(path, "?mode=ro"), table, columns);
}

}  // namespace tenure::sqlite
