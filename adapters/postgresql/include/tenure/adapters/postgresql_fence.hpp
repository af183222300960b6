// A fenced writer for your own PostgreSQL database: the check of the fencing token and the write are one transaction.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include <tenure/adapters/fenced_writer.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/fence.hpp>

struct pg_conn;    // libpq's PGconn
struct pg_result;  // libpq's PGresult

namespace tenure {

/// The isolation level of the fence's transactions. The fence holds under each level, because it locks its row. Under
/// the two stricter levels, a write that meets a change of terms fails as transient; under the others it waits for the
/// change and is then refused.
enum class PostgresqlIsolation { sessionDefault, readCommitted, repeatableRead, serializable };

/// The table of a PostgreSQL store that is in the same database as the data: the values of its PostgresqlStoreOptions.
struct PostgresqlLeaseTable {
  std::string schema{"public"};
  std::string table{"tenure_lease"};
  std::string sortKey{};  ///< LeaseKey::sortKey of the lease that writes; its name is TermStamp::lease
};

struct PostgresqlFenceOptions {
  PostgresqlIsolation isolation{PostgresqlIsolation::sessionDefault};
  /// How long each statement of a write waits for locks of others (`lock_timeout`). 0: the session's setting.
  std::chrono::milliseconds lockTimeout{1'000};
  /// How long a writer may be idle inside a write before the server ends its session
  /// (`idle_in_transaction_session_timeout`). A frozen writer holds the fence's row, and its successor waits for this
  /// row, so this bounds the wait. It must be longer than the work computes between two statements. 0: the session's
  /// setting.
  std::chrono::milliseconds frozenLimit{10'000};
  /// The schema of the fence's table. Empty: the first schema of the search path at open().
  std::string schema{};
  /// The table with the row of the lease, if its store is in this database: each write then checks and locks this row
  /// too. Empty: the fence learns of a later term only from its writes.
  std::optional<PostgresqlLeaseTable> leaseTable{};
};

/// The result of a statement; owns the PGresult. If a work returns it, its error is classified by SQLSTATE.
class TENURE_API PostgresqlResult {
 public:
  explicit PostgresqlResult(pg_result* result) noexcept;
  [[nodiscard]] pg_result* get() const noexcept { return result_.get(); }

 private:
  std::unique_ptr<pg_result, void (*)(pg_result*)> result_;
};

/// Keeps former leaders out of a database. Each write carries the stamp of its term; the fence remembers the highest
/// token of each lease in a table next to your data and refuses writes with a lower one, inside the transaction that
/// writes. A writer that is paused, for however long and at whatever point, can never overwrite its successor's
/// writes.
///
///     auto fence = tenure::PostgresqlFence::open(connection).value();
///     auto written = fence.write(term, [](PGconn* connection) {  // term: the Leadership
///       return tenure::PostgresqlResult{PQexec(connection, "INSERT INTO ledger(entry) VALUES('paid')")};
///     });
///
/// Writes of one term do not wait for each other, over any number of connections. A later term's first write waits
/// until those under way have ended. Tables guarded by `tenure fence install-sql` accept what is written inside
/// write(), because it sets `tenure.lease`, `tenure.token` and `tenure.holder` for the transaction.
///
/// **With the lease in the same database** (PostgresqlFenceOptions::leaseTable) a write also needs the lease's row to
/// show its term: this token and holder, not released, and no counter above the token. The row stays locked (FOR KEY
/// SHARE) until the write's transaction ends; renewals and a release pass that lock, and a takeover or removal does
/// not. A term that has lost its lease is refused even before its successor has written, and a successor's term
/// begins only after the last write of the one before it has committed or failed. It does not prove that the
/// lease has not expired. The row has no clock in it; it proves that no other candidate has been given the lease.
///
///   the row shows                                   | the write is refused with
///   ------------------------------------------------|---------------------------------------------------------------
///   a later token, or none and a later counter      | StaleToken, with that token as `highestSeen`
///   this token, with another holder                 | ForeignTerm
///   this token, released or removed                 | TermOver
///   this token, and a later counter                 | TermOver: a candidate that waits for writers announces itself so
///   a lower token                                   | TermOver: this database lost the term, or is another one
///   no such lease, or no table                      | WriteError, misconfigured
///
/// A writer that is idle inside a write delays takeovers of its lease, so its session is ended after half of the
/// lease's duration, if `frozenLimit` (or the session's setting) is longer. This holds in transactions of the caller
/// too, until they end. PostgreSQL counts the time between two statements only: a long statement, a writer that is
/// frozen inside of COPY or of a large result, and PREPARE TRANSACTION hold the row for as long as they last. Writes
/// that overlap keep no candidate out for longer than one of them lasts: a candidate that has waited the lease out, and
/// finds the row held, raises the counter above the token, and no further write of that term begins.
///
/// The guarantee holds for one primary. A standby that was promoted without having received the last commits lacks
/// their tokens too: docs/fencing/postgresql.md says which settings exclude that.
///
/// The connection belongs to the caller. It must outlive the fence, and only one thread at a time uses both. Nothing is
/// prepared on it, so it may be reset (PQreset) between writes, and it may go through a transaction pooler.
class TENURE_API PostgresqlFence {
 public:
  /// Creates the table `tenure_fence_guard` if it is missing, which needs CREATE on the schema. One that is there must
  /// be as it makes it, and belong to a role that the writer trusts: itself, a role that has its rights, the owner of
  /// the schema or the database. Otherwise the error is `misconfigured` and says what to do. The writer needs
  /// SELECT, INSERT and UPDATE on the table. With a `leaseTable`, that table must be there, and the writer needs SELECT
  /// on it and UPDATE on one of its columns, which the row lock asks for: `renewed_at` is there for people only. Only
  /// outside of a transaction; `client_encoding` must be UTF8.
  [[nodiscard]] static FenceResult<PostgresqlFence> open(pg_conn* connection, PostgresqlFenceOptions options = {});

  ~PostgresqlFence();
  PostgresqlFence(PostgresqlFence&&) noexcept;
  PostgresqlFence& operator=(PostgresqlFence&&) noexcept;

  /// BEGIN; lock the lease's row if there is a `leaseTable`; lock the fence's row, check the stamp and remember its
  /// token; work(connection); COMMIT. Either all of it
  /// happens or nothing: a rejection comes before `work` is called, and a failed or throwing `work` is rolled back
  /// together with the remembered token. An exception passes through.
  ///
  /// `work` returns a PostgresqlResult, a bool (false rolls back), or nothing. A PostgresqlResult is that of its last
  /// statement: an error rolls back and is returned as WriteError, classified by SQLSTATE (serialization failures and
  /// deadlocks are transient, with nothing written). A failed statement whose result is not returned is detected, and
  /// rolls back as `misconfigured`. `work` must not end the transaction. If it does, this is detected and reported as
  /// WriteError with `mayBeWritten`, but its later statements were not fenced.
  ///
  /// A lost connection is a transient error; with `mayBeWritten` if it was lost in the COMMIT. A COMMIT whose wait for
  /// a synchronous standby was cancelled is reported in the same way. Only a warning of the server shows it, so a
  /// connection with a notice receiver (PQsetNoticeReceiver) is refused as `misconfigured`; it may have a notice
  /// processor.
  ///
  /// Blocks, without a time limit while the COMMIT waits for a synchronous standby that is down: no setting of the
  /// server ends that wait. Another thread may shut down the connection's socket (PQsocket), which loses the
  /// connection.
  ///
  /// Inside a transaction of the caller, the write joins it by a savepoint, under the caller's isolation level and time
  /// limits: the write and the remembered token become durable, or vanish, with the caller's COMMIT or ROLLBACK. A
  /// write that is refused or fails leaves the caller's transaction as it was. The caller's earlier writes in it
  /// are *not* fenced: after such a write the caller must roll it back. The fence cannot see
  /// whether a wait of the caller's COMMIT was cancelled.
  template <class Work>
  [[nodiscard]] FenceResult<void> write(const TermStamp& stamp, Work&& work) {
    using Result = std::invoke_result_t<Work&, pg_conn*>;
    static_assert(std::is_void_v<Result> || std::is_same_v<Result, bool> || std::is_same_v<Result, PostgresqlResult>,
                  "the work returns void, bool or a PostgresqlResult");
    if constexpr (std::is_void_v<Result>) {
      return writeJudged(stamp, [&work](pg_conn* connection) {
        work(connection);
        return true;
      });
    } else {
      return writeJudged(stamp, [&work](pg_conn* connection) { return work(connection); });
    }
  }

  /// The same under a term. Once the term is no longer valid, the write is refused with TermOver before the server
  /// is asked. A stale token is reported to the term, which ends the term.
  template <class Work>
  [[nodiscard]] FenceResult<void> write(const FencedTerm& term, Work&& work) {
    return underTerm(term, [&](const TermStamp& stamp) { return write(stamp, work); });
  }

  /// The highest token of any write; empty if this lease has not written yet. The holder is empty if only plain SQL has
  /// written with that token.
  [[nodiscard]] FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease);

 private:
  /// The result of a work: whether the write is wanted, or the result of its last statement.
  using Judged = std::variant<bool, PostgresqlResult>;
  class Impl;
  explicit PostgresqlFence(std::unique_ptr<Impl> impl) noexcept;
  [[nodiscard]] FenceResult<void> writeJudged(const TermStamp& stamp, const std::function<Judged(pg_conn*)>& work);

  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure
