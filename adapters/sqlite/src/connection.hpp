// Thin helpers over the caller's connection: statements that wait for locks, and one fenced transaction.
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
  [[nodiscard]] FenceError errorOf(const std::string& what, int code, bool mayBeWritten = false) const;
  /// An error of our own with the database's name.
  [[nodiscard]] FenceError misuse(const std::string& text, bool mayBeWritten = false) const;

 private:
  sqlite3* database_;
  std::chrono::milliseconds busyTimeout_;
};

/// A transaction of our own holds the write lock from begin() on, so what it reads stays true until the end. A
/// savepoint in the caller's transaction may have no lock yet and read an old snapshot; then SQLite refuses its first
/// write (SQLITE_BUSY_SNAPSHOT). It is rolled back when destroyed, unless commit() has succeeded.
class Transaction {
 public:
  explicit Transaction(Connection& connection) noexcept
      : connection_{connection}, joined_{connection.inTransaction()} {}
  ~Transaction() { rollBack(); }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  [[nodiscard]] int begin(const Instant& start);
  /// SQLITE_OK, or why nothing was committed (after an I/O error: why it is not certain whether anything was).
  [[nodiscard]] int commit(const Instant& start);
  void rollBack() noexcept;

  /// Ends the work's part; call it once, before commit(). SQLITE_BUSY: a statement that writes is still in progress.
  /// Any other error: the work ended the transaction that begin() began, even if it then began another.
  [[nodiscard]] int endWork();

 private:
  Connection& connection_;
  const bool joined_;
  bool open_{false};
  bool savepoint_{false};
};

}  // namespace tenure::sqlite_fence
