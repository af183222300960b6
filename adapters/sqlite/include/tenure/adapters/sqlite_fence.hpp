// A fenced writer for your own SQLite database: the check of the fencing token and the write are one transaction. And
// SQL that makes tables of your own refuse unfenced and stale writes, whoever sends them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include <tenure/adapters/fenced_writer.hpp>
#include <tenure/lockcore/fence.hpp>

struct sqlite3;

namespace tenure {

struct SqliteFenceOptions {
  /// How long one call waits for other writers' locks, in short steps with jitter. 0: not at all. The connection
  /// should have no busy handler of its own: SQLite's would be waited for on top of this, and starves writers.
  std::chrono::milliseconds busyTimeout{1'000};
};

/// Keeps former leaders out of a database. Each write carries the stamp of its term; the fence remembers the highest
/// token of each lease in a table beside your data and refuses writes with a lower one, inside the transaction that
/// writes. Whoever is paused, however long and wherever, can therefore never overwrite what a successor has written.
///
/// This check is the guarantee. `Leadership::leads()`, asked before a write, only saves a refusal: between any check
/// in the client and the write the process may be paused for longer than the lease. The fence in turn only sees what
/// goes through it; see sqliteFenceSql() for tables that refuse all other writers.
///
///     auto fence = tenure::SqliteFence::open(database).value();
///     auto written = fence.write(term, [](sqlite3* db) {  // term: the Leadership; it ends if the fence says stale
///       return sqlite3_exec(db, "INSERT INTO ledger(entry) VALUES('paid')", nullptr, nullptr, nullptr);
///     });
///
/// The connection stays the caller's: it must outlive the fence, and both are used by one thread at a time. The
/// database may be in any journal mode; how durable a write is follows from its `synchronous` setting.
class SqliteFence {
 public:
  /// Makes the table `tenure_fence_guard` in the main database if it is missing. Outside of a transaction only.
  [[nodiscard]] static FenceResult<SqliteFence> open(sqlite3* database, SqliteFenceOptions options = {});

  ~SqliteFence();
  SqliteFence(SqliteFence&&) noexcept;
  SqliteFence& operator=(SqliteFence&&) noexcept;

  /// BEGIN IMMEDIATE; check the stamp and remember its token; work(database); COMMIT. All of it happens or nothing:
  /// a refusal comes before `work` is called, and a failed or throwing `work` is rolled back, the remembered token
  /// included. An exception passes through.
  ///
  /// `work` returns nothing, or an SQLite result code: SQLITE_OK, SQLITE_ROW and SQLITE_DONE commit, any other code
  /// rolls back and comes back as WriteTrouble. It must not end the transaction; that is found out and reported as
  /// trouble with `mayBeWritten`, but what it did after that was not fenced.
  ///
  /// Within a transaction of the caller's the write joins it by a savepoint: the write and the remembered token
  /// become durable, or vanish, with the caller's COMMIT or ROLLBACK. Refused or failed, it leaves the caller's
  /// transaction as it was: what that has written before is *not* fenced unless the caller then rolls it back.
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

  /// The same under a term: refused with TermOver, before the database is touched, once the term is not valid any more;
  /// a stale token is reported to the term, which ends it.
  template <class Work>
  [[nodiscard]] FenceResult<void> write(const FencedTerm& term, Work&& work) {
    return underTerm(term, [&](const TermStamp& stamp) { return write(stamp, work); });
  }

  /// The highest token that was written with; empty if this lease has not written yet. The holder is empty if only
  /// plain SQL has written with that token (sqliteFenceSql).
  [[nodiscard]] FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease);

 private:
  class Impl;
  explicit SqliteFence(std::unique_ptr<Impl> impl) noexcept;
  [[nodiscard]] FenceResult<void> writeCoded(const TermStamp& stamp, const std::function<int(sqlite3*)>& work);

  std::unique_ptr<Impl> impl_;
};

struct FencedTable {
  std::string table;  ///< in the main database; exists
  std::string lease;  ///< as in TermStamp
  /// An integer column for the fencing token of whoever wrote a row last. Empty: the table has none, and only
  /// SqliteFence::write can change it.
  std::string tokenColumn{};
};

/// A script of triggers for a migration or `sqlite3_exec`; run it in a transaction. It may be run again, also after
/// the table has changed. SQLite itself then enforces the fence (RAISE(ABORT), SQLITE_CONSTRAINT_TRIGGER) on every
/// writer: old code, the sqlite3 shell, programs in other languages that know nothing of this library.
///
/// - Inside SqliteFence::write for that lease everything is allowed: the fence has checked the term.
/// - With a `tokenColumn` plain SQL may INSERT and UPDATE too, if each row carries the writer's token: lower than the
///   highest seen is refused, higher is remembered. An UPDATE must *name* the column, so that a forgotten token is
///   found out at once and not at the next change of leaders. (Only the token is compared, not the holder.)
/// - DELETE carries no token and is refused.
///
/// What a trigger cannot see is not fenced: dropping the table or the triggers, the deletions of REPLACE and of
/// foreign keys (`ON DELETE CASCADE`) into other tables. Undo with `DROP TRIGGER`, names start with `tenure_fence_`.
///
/// Throws std::invalid_argument if the table or the lease is empty, or a text is not UTF-8 or holds a NUL.
[[nodiscard]] std::string sqliteFenceSql(const FencedTable& fenced);

}  // namespace tenure
