// Thin helpers over the caller's connection.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/fence.hpp>

#include "lockcore/sqlite/statement.hpp"

namespace tenure::sqlite_fence {

using sqlite::Statement;

class Connection {
 public:
  Connection(sqlite3* database, std::chrono::milliseconds busyTimeout) noexcept
      : database_{database}, busyTimeout_{busyTimeout} {}

  [[nodiscard]] sqlite3* raw() const noexcept { return database_; }
  [[nodiscard]] bool inTransaction() const noexcept { return sqlite3_get_autocommit(database_) == 0; }
  [[nodiscard]] int exec(const char* sql) { return sqlite3_exec(database_, sql, nullptr, nullptr, nullptr); }
  [[nodiscard]] int prepare(std::string_view sql, Statement& out);

  /// Repeats a step while another connection's lock is in its way, for at most the busy timeout, counted from `start`.
  [[nodiscard]] int patiently(const Instant& start, const std::function<int()>& step);

  /// For people.
  [[nodiscard]] std::string name() const;
  /// What went wrong in the last step. Call it before anything else is done.
  [[nodiscard]] FenceError trouble(const std::string& what, int code, bool mayBeWritten = false) const;
  /// An error of our own with the database's name.
  [[nodiscard]] FenceError misuse(const std::string& text, bool mayBeWritten = false) const;

 private:
  sqlite3* database_;
  std::chrono::milliseconds busyTimeout_;
};

}  // namespace tenure::sqlite_fence
