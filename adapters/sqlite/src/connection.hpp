// Thin helpers over the caller's connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/fence.hpp>

namespace tenure::sqlite_fence {

/// A prepared statement; each use ends with reset(), so that no snapshot is held between calls.
class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* statement) noexcept : statement_{statement} {}

  Statement& bind(int parameter, std::int64_t value);
  /// The text must live until reset().
  Statement& bind(int parameter, const std::string& text);
  [[nodiscard]] int step() { return sqlite3_step(statement_.get()); }
  void reset() noexcept { sqlite3_reset(statement_.get()); }
  /// Steps to the end of a statement without rows: SQLITE_OK or an error code.
  [[nodiscard]] int run();

  [[nodiscard]] std::int64_t integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  [[nodiscard]] std::string text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

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
