// A fenced writer for your own SQLite database: the check of the fencing token and the write are one transaction. Also,
// SQL that makes your own tables refuse unfenced and stale writes, whoever sends them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <tenure/adapters/fenced_writer.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/fence.hpp>

struct sqlite3;

namespace tenure {

struct SqliteFenceOptions {
  /// How long one call waits for other writers' locks, in short steps with jitter. 0: it does not wait. The connection
  /// should have no busy handler: SQLite's handler would add its own wait to this one, and it starves
  /// writers.
  std::chrono::milliseconds busyTimeout{1'000};
};

/// Keeps former leaders out of a database. Each write carries the stamp of its term; the fence remembers the highest
/// token of each lease in a table next to your data and refuses writes with a lower one, inside the transaction that
/// writes. A writer that is paused, for however long and at whatever point, can never overwrite its successor's
/// writes.
///
/// This check is the guarantee. `Leadership::leads()`, asked before a write, only saves a rejection: between any check
/// in the client and the write the process may be paused for longer than the lease. But the fence only sees writes that
/// go through it; see sqliteFenceSql() for tables that refuse all other writers.
///
///     auto fence = tenure::SqliteFence::open(database).value();
///     auto written = fence.write(term, [](sqlite3* db) {  // term: the Leadership; it ends if the fence says stale
///       return sqlite3_exec(db, "INSERT INTO ledger(entry) VALUES('paid')", nullptr, nullptr, nullptr);
///     });
///
/// The connection belongs to the caller. It must outlive the fence, and only one thread at a time uses both. The
/// database may be in any journal mode; its `synchronous` setting decides how durable a write is.
class TENURE_API SqliteFence {
 public:
  /// Creates the table `tenure_fence_guard` in the main database if it is missing. Only outside of a transaction.
  [[nodiscard]] static FenceResult<SqliteFence> open(sqlite3* database, SqliteFenceOptions options = {});

  ~SqliteFence();
  SqliteFence(SqliteFence&&) noexcept;
  SqliteFence& operator=(SqliteFence&&) noexcept;

  /// BEGIN IMMEDIATE; check the stamp and remember its token; work(database); COMMIT. Either all of it happens or
  /// nothing: a rejection comes before `work` is called, and a failed or throwing `work` is rolled back together with
  /// the remembered token. An exception passes through.
  ///
  /// `work` returns nothing, or an SQLite result code: SQLITE_OK, SQLITE_ROW and SQLITE_DONE commit, any other code
  /// rolls back and is returned as WriteError. A statement that writes (INSERT ... RETURNING) must have been reset or
  /// finalized by then: SQLite commits none that is in progress, and the write is refused. Do not step it on
  /// afterwards: it would run a second time, outside the fence. `work` must not end the transaction. If it does, this
  /// is detected and reported as WriteError with `mayBeWritten`, but its later statements were not fenced.
  ///
  /// Inside a transaction of the caller, the write joins it by a savepoint: the write and the remembered token become
  /// durable, or vanish, with the caller's COMMIT or ROLLBACK. A write that is refused or fails leaves the caller's
  /// transaction as it was. The caller's earlier writes in it are *not* fenced, unless the caller then rolls it
  /// back.
  template <class Work>
  [[nodiscard]] FenceResult<void> write(const TermStamp& stamp, Work&& work) {
    using Result = std::invoke_result_t<Work&, sqlite3*>;
    static_assert(std::is_void_v<Result> || std::is_same_v<Result, int>,
                  "the work returns void or an SQLite result code (int)");
    if constexpr (std::is_void_v<Result>) {
      return writeCoded(stamp, [&work](sqlite3* database) {
        work(database);
        return 0;  // SQLITE_OK
      });
    } else {
      return writeCoded(stamp, [&work](sqlite3* database) { return work(database); });
    }
  }

  /// The same under a term. Once the term is no longer valid, the write is refused with TermOver before the database
  /// is touched. A stale token is reported to the term, which ends the term.
  template <class Work>
  [[nodiscard]] FenceResult<void> write(const FencedTerm& term, Work&& work) {
    return underTerm(term, [&](const TermStamp& stamp) { return write(stamp, work); });
  }

  /// The highest token of any write; empty if this lease has not written yet. The holder is empty if only plain SQL has
  /// written with that token (sqliteFenceSql).
  [[nodiscard]] FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease);

 private:
  class Impl;
  explicit SqliteFence(std::unique_ptr<Impl> impl) noexcept;
  [[nodiscard]] FenceResult<void> writeCoded(const TermStamp& stamp, const std::function<int(sqlite3*)>& work);

  std::unique_ptr<Impl> impl_;
};

/// A script of triggers for a migration or `sqlite3_exec`, for a table of the main database; run it in a transaction.
/// It may be run again, even after the table has changed. SQLite itself then enforces the fence (RAISE(ABORT),
/// SQLITE_CONSTRAINT_TRIGGER) on every writer: old code, the sqlite3 shell, programs in other languages that know
/// nothing of this library.
///
/// - Inside SqliteFence::write for that lease everything is allowed: the fence has checked the term.
/// - `tokenColumn` is an integer column for the fencing token of the writer that wrote a row last. Without it only
///   SqliteFence::write can change the table. With it plain SQL may INSERT and UPDATE too, if each row carries the
///   writer's token. A token lower than the highest seen is refused, a higher one is remembered. An UPDATE must *name*
///   the column, so that a forgotten token is detected at once and not only at the next change of leaders. (Only the
///   token is compared, not the holder.)
/// - DELETE carries no token and is refused.
///
/// A trigger does not see, and so does not fence: dropping the table or the triggers, a connection that has switched
/// triggers off (SQLITE_DBCONFIG_ENABLE_TRIGGER), the rows that REPLACE deletes. Undo it with `DROP TRIGGER`; the names
/// start with `tenure_fence_`.
///
/// Throws std::invalid_argument if the table is empty, a text is not UTF-8 or holds a NUL, or the lease is one that
/// faultsOf(const LeaseKey&) refuses.
[[nodiscard]] TENURE_API std::string sqliteFenceSql(const FencedTable& fenced, std::string_view tokenColumn = {});

}  // namespace tenure
