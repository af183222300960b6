// An SQLite file to which a job writes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <sqlite3.h>

namespace tenure::chaos {

struct CloseDatabase {
  void operator()(sqlite3* db) const noexcept { sqlite3_close(db); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

/// Opens or creates the file and runs `setUp`. Throws std::runtime_error. Several processes may do so at once.
[[nodiscard]] Database openDatabase(const std::string& path, const std::string& setUp);

/// SQLITE_OK or another result code; never throws.
[[nodiscard]] int execute(sqlite3* db, const std::string& sql) noexcept;

/// The first column of the first row; empty if it cannot be read.
[[nodiscard]] std::optional<std::string> readText(sqlite3* db, const std::string& sql);

}  // namespace tenure::chaos
