#include "transaction.hpp"

namespace tenure::sqlite_fence {

int Transaction::begin(const Instant& start) {
  if (!joined_) {
    const int code = connection_.patiently(start, [this] { return connection_.exec("BEGIN IMMEDIATE"); });
    if (code != SQLITE_OK) return code;
    open_ = true;
  }
  // A savepoint even inside our own transaction: if the work commits, the savepoint is gone too, which shows the
  // commit.
  if (const int code = connection_.exec("SAVEPOINT tenure_fence"); code != SQLITE_OK) return code;
  open_ = true;
  savepoint_ = true;
  return SQLITE_OK;
}

bool Transaction::endWork() {
  if (!connection_.inTransaction()) {
    open_ = false;
    return false;
  }
  savepoint_ = connection_.exec("RELEASE tenure_fence") != SQLITE_OK;
  return !savepoint_;
}

int Transaction::commit(const Instant& start) {
  int code = SQLITE_OK;
  if (!joined_) {
    // With a rollback journal a commit waits for readers; it may simply be repeated.
    code = connection_.patiently(start, [this] { return connection_.exec("COMMIT"); });
  }
  open_ = code != SQLITE_OK;
  return code;
}

void Transaction::rollBack() noexcept {
  if (!open_) return;
  open_ = false;
  if (!connection_.inTransaction()) return;  // SQLite has rolled back by itself, as it does after some errors
  if (!joined_) {
    // A rollback that found no memory has not begun. If the transaction stayed open, the next write would take it for
    // the caller's.
    if (connection_.exec("ROLLBACK") != SQLITE_OK && connection_.inTransaction()) (void)connection_.exec("ROLLBACK");
  } else if (savepoint_) {
    (void)connection_.exec("ROLLBACK TO tenure_fence");
    (void)connection_.exec("RELEASE tenure_fence");
  }
}

}  // namespace tenure::sqlite_fence
