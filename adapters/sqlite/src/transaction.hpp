// One fenced transaction, or a savepoint in the caller's transaction.
#pragma once

#include <tenure/lockcore/clock.hpp>

#include "connection.hpp"

namespace tenure::sqlite_fence {

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

  /// False if anybody else has ended the transaction that begin() began, even if another one was begun since. Ends the
  /// work's part; call it once, before commit().
  [[nodiscard]] bool endWork();

 private:
  Connection& connection_;
  const bool joined_;
  bool open_{false};
  bool savepoint_{false};
};

}  // namespace tenure::sqlite_fence
