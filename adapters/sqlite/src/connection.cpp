#include "connection.hpp"

#include <chrono>

#include "lockcore/port/saturating_time.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "lockcore/sqlite/busy_pause.hpp"

namespace tenure::sqlite_fence {
namespace {

ErrorClass classOf(int code) {
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
    case SQLITE_INTERRUPT:
    case SQLITE_IOERR:
    case SQLITE_FULL:
    case SQLITE_PROTOCOL:
      return ErrorClass::transient;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorClass::corrupt;
    default:
      return ErrorClass::misconfigured;
  }
}

}  // namespace

int Connection::prepare(std::string_view sql, Statement& out) {
  sqlite3_stmt* raw = nullptr;
  const int code =
      sqlite3_prepare_v3(database_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  out = Statement{raw};
  return code;
}

int Connection::patiently(const Instant& start, const std::function<int()>& step) {
  SystemRandom random;
  for (int round = 0;; ++round) {
    const int code = step();
    // A snapshot after which others have written never becomes writable again, so waiting is useless.
    const bool worthWaiting =
        (code & 0xFF) == SQLITE_BUSY && sqlite3_extended_errcode(database_) != SQLITE_BUSY_SNAPSHOT;
    const auto left = saturating::in<std::chrono::nanoseconds>(busyTimeout_) - elapsedForHolder(start, readClock());
    if (!worthWaiting || left.count() <= 0) return code;
    sqlite::pauseForLock(random, round, left);
  }
}

FenceError Connection::errorOf(const std::string& what, int code, bool mayBeWritten) const {
  std::string text = what + " failed: " + sqlite3_errmsg(database_);
  // The code may come from the caller's work; then SQLite's message is about something else.
  if ((sqlite3_errcode(database_) & 0xFF) != (code & 0xFF)) text = what + " failed: " + sqlite3_errstr(code);
  if ((code & 0xFF) == SQLITE_BUSY) {
    text += sqlite3_extended_errcode(database_) == SQLITE_BUSY_SNAPSHOT
                ? "; others have written since the transaction began to read, so roll it back and start again"
                : "; another connection held the lock for the whole busyTimeout of " +
                      std::to_string(busyTimeout_.count()) + " ms";
  }
  return fenceError({classOf(code), name() + ": " + text}, mayBeWritten);
}

FenceError Connection::misuse(const std::string& text, bool mayBeWritten) const {
  return fenceError({ErrorClass::misconfigured, name() + ": " + text}, mayBeWritten);
}

std::string Connection::name() const {
  const char* file = sqlite3_db_filename(database_, "main");
  return "SQLite database " + (file == nullptr || *file == '\0' ? std::string{"in memory"} : std::string{file});
}

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

int Transaction::endWork() {
  if (!connection_.inTransaction()) {
    open_ = false;
    return SQLITE_ERROR;
  }
  const int code = connection_.exec("RELEASE tenure_fence");
  savepoint_ = code != SQLITE_OK;
  return code;
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
    // A statement that writes and is in progress keeps a savepoint from its release. It is the work's: with one of the
    // caller's, the savepoint would not have been made.
    for (sqlite3_stmt* one = sqlite3_next_stmt(connection_.raw(), nullptr); one != nullptr;
         one = sqlite3_next_stmt(connection_.raw(), one)) {
      if (sqlite3_stmt_busy(one) != 0 && sqlite3_stmt_readonly(one) == 0) (void)sqlite3_reset(one);
    }
    (void)connection_.exec("ROLLBACK TO tenure_fence");
    (void)connection_.exec("RELEASE tenure_fence");
  }
}

}  // namespace tenure::sqlite_fence
