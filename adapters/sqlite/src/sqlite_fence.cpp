#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <tenure/adapters/sqlite_fence.hpp>
#include <tenure/lockcore/clock.hpp>

#include "adapters/fence/src/fence_text.hpp"
#include "connection.hpp"
#include "fence_sql.hpp"

namespace tenure {

using sqlite_fence::Connection;
using sqlite_fence::Statement;
using sqlite_fence::Transaction;

namespace {

bool commits(int code) { return code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE; }

}  // namespace

class SqliteFence::Impl {
 public:
  Impl(sqlite3* database, SqliteFenceOptions options) : connection_{database, options.busyTimeout} {}

  [[nodiscard]] std::optional<FenceError> open();
  [[nodiscard]] FenceResult<void> write(const TermStamp& stamp, const std::function<int(sqlite3*)>& work);
  [[nodiscard]] FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease);

 private:
  struct Seen {
    std::optional<TermStamp> term;  // empty: no token yet
    std::string damage;             // a stored text that should be a token and is none
    std::int64_t ticket{sqlite_fence::noTicket};
  };

  [[nodiscard]] std::optional<FenceError> makeTable();
  [[nodiscard]] std::string place() const { return connection_.name() + ", table tenure_fence_guard"; }
  [[nodiscard]] int look(const std::string& lease, Seen& seen);
  [[nodiscard]] std::optional<FenceError> admit(const TermStamp& stamp, Seen& seen, const Instant& start);
  [[nodiscard]] std::optional<FenceError> finish(const TermStamp& stamp, const Seen& seen, int code,
                                                 Transaction& transaction, const Instant& start);
  [[nodiscard]] FenceError transactionEnded(const TermStamp& stamp, int code);
  [[nodiscard]] int setTicket(const std::string& lease, std::int64_t ticket);

  Connection connection_;
  Statement select_, remember_, setTicket_;
  std::vector<std::string> open_{};  ///< the leases of the writes whose work runs now, the outermost first
};

std::optional<FenceError> SqliteFence::Impl::open() {
  if (connection_.inTransaction()) return connection_.misuse("a fence is opened outside of transactions only");
  if (auto error = makeTable()) return error;
  const std::pair<const char*, Statement*> statements[] = {
      {"SELECT token, holder, ticket FROM main.tenure_fence_guard WHERE lease = ?1", &select_},
      // The holder is also filled in for a token with which only plain SQL has written so far.
      {"INSERT INTO main.tenure_fence_guard(lease, token, holder, since, ticket) VALUES(?1, ?2, ?3, ?4, 1) "
       "ON CONFLICT(lease) DO UPDATE SET since = iif(excluded.token > token, excluded.since, since), "
       "token = excluded.token, holder = excluded.holder, ticket = 1",
       &remember_},
      {"UPDATE main.tenure_fence_guard SET ticket = ?2 WHERE lease = ?1", &setTicket_}};
  for (const auto& [sql, statement] : statements) {
    if (const int code = connection_.prepare(sql, *statement); code != SQLITE_OK) {
      return connection_.errorOf("preparing the fence's statements", code);
    }
  }
  return std::nullopt;
}

std::optional<FenceError> SqliteFence::Impl::makeTable() {
  const Instant start = readClock();
  int code = connection_.patiently(start, [this] { return connection_.exec("BEGIN IMMEDIATE"); });
  if (code != SQLITE_OK) return connection_.errorOf("locking the database to make the fence's table", code);
  code = connection_.exec(sqlite_fence::guardTableSql);
  // A connection with a valid ticket would hold the lock. So this ticket was left by a work that ended its transaction.
  if (code == SQLITE_OK) code = connection_.exec("UPDATE main.tenure_fence_guard SET ticket = 0 WHERE ticket <> 0");
  if (code == SQLITE_OK) code = connection_.patiently(start, [this] { return connection_.exec("COMMIT"); });
  if (code == SQLITE_OK) return std::nullopt;
  FenceError error = connection_.errorOf("making the fence's table tenure_fence_guard", code);
  if (connection_.inTransaction()) (void)connection_.exec("ROLLBACK");
  return error;
}

int SqliteFence::Impl::look(const std::string& lease, Seen& seen) {
  const int code = select_.bind(1, lease).step();
  if (code == SQLITE_ROW) {
    const std::string text = select_.bytes(0);
    if (text.empty()) {  // the column is NOT NULL, so there was no memory for its text
      select_.reset();
      return SQLITE_NOMEM;
    }
    const auto token = parseFencingToken(text);
    if (token) seen.term = TermStamp{lease, *token, select_.bytes(1)};
    if (!token && text != "0") seen.damage = text;
    seen.ticket = select_.integer(2);
  }
  select_.reset();
  return commits(code) ? SQLITE_OK : code;
}

int SqliteFence::Impl::setTicket(const std::string& lease, std::int64_t ticket) {
  return setTicket_.bind(1, lease).bind(2, ticket).run();
}

std::optional<FenceError> SqliteFence::Impl::admit(const TermStamp& stamp, Seen& seen, const Instant& start) {
  if (const int code = look(stamp.lease, seen); code != SQLITE_OK) {
    return connection_.errorOf("reading the fence's table tenure_fence_guard", code);
  }
  if (!seen.damage.empty()) return damagedFence(place(), stamp.lease, seen.damage);
  if (auto error = termError(stamp, seen.term)) return error;
  const std::string since = wallClockTextForDisplay(wallClockMillisForDisplay());
  const auto token = static_cast<std::int64_t>(stamp.token.value());
  const int code = connection_.patiently(start, [&] {  // inside the caller's transaction this may be its first write
    return remember_.bind(1, stamp.lease).bind(2, token).bind(3, stamp.holder).bind(4, since).run();
  });
  if (code != SQLITE_OK) return connection_.errorOf("writing the fence's table tenure_fence_guard", code);
  return std::nullopt;
}

FenceResult<void> SqliteFence::Impl::write(const TermStamp& stamp, const std::function<int(sqlite3*)>& work) {
  if (auto error = errorOf(stamp)) return *std::move(error);
  const Instant start = readClock();
  Transaction transaction{connection_};
  if (const int code = transaction.begin(start); code != SQLITE_OK) {
    return connection_.errorOf("locking the database for a fenced write", code);
  }
  Seen seen;
  if (auto error = admit(stamp, seen, start)) return *std::move(error);
  // An open ticket that is no outer write's own was left by a work that committed it and went on.
  if (std::find(open_.begin(), open_.end(), stamp.lease) == open_.end()) seen.ticket = sqlite_fence::noTicket;
  int code = SQLITE_OK;
  open_.push_back(stamp.lease);
  try {
    code = work(connection_.raw());
  } catch (...) {
    open_.pop_back();
    transaction.rollBack();
    if (!connection_.inTransaction()) (void)setTicket(stamp.lease, sqlite_fence::noTicket);
    throw;
  }
  open_.pop_back();
  if (auto error = finish(stamp, seen, code, transaction, start)) return *std::move(error);
  return {};
}

std::optional<FenceError> SqliteFence::Impl::finish(const TermStamp& stamp, const Seen& seen, int code,
                                                    Transaction& transaction, const Instant& start) {
  if (!connection_.inTransaction()) return transactionEnded(stamp, code);
  if (!commits(code)) return connection_.errorOf("the work of a fenced write", code);
  if (const int closed = setTicket(stamp.lease, seen.ticket); closed != SQLITE_OK) {
    return connection_.errorOf("writing the fence's table tenure_fence_guard", closed);
  }
  if (const int ended = transaction.endWork(); ended != SQLITE_OK) {
    transaction.rollBack();
    if (ended != SQLITE_BUSY) return transactionEnded(stamp, SQLITE_OK);
    return connection_.misuse(
        "a statement of the work that writes is still in progress; reset or finalize it in the work");
  }
  if (const int committed = transaction.commit(start); committed != SQLITE_OK) {
    // A commit that met a lock, a constraint or a hook has not begun. After any other fault all of it, or not all of
    // it, may be on the disk.
    const int kind = committed & 0xFF;
    return connection_.errorOf("committing a fenced write", committed,
                               kind != SQLITE_BUSY && kind != SQLITE_CONSTRAINT);
  }
  return std::nullopt;
}

/// The transaction of the check is gone: either SQLite itself rolled back, as it does after some errors; or the work
/// ended it.
FenceError SqliteFence::Impl::transactionEnded(const TermStamp& stamp, int code) {
  FenceError error = connection_.errorOf("the work of a fenced write", code);
  Seen left;
  const bool committed = look(stamp.lease, left) != SQLITE_OK || left.ticket != sqlite_fence::noTicket;
  if (!committed && !commits(code)) return error;
  (void)setTicket(stamp.lease, sqlite_fence::noTicket);
  return connection_.misuse(
      "the work of a fenced write has ended the transaction that fenced it; what it wrote after that may be stale, so "
      "take COMMIT and ROLLBACK out of it",
      true);
}

FenceResult<std::optional<TermStamp>> SqliteFence::Impl::highestSeen(const std::string& lease) {
  Seen seen;
  const int code = connection_.patiently(readClock(), [&] { return look(lease, seen); });
  if (code != SQLITE_OK) return connection_.errorOf("reading the fence's table tenure_fence_guard", code);
  if (!seen.damage.empty()) return damagedFence(place(), lease, seen.damage);
  return seen.term;
}

FenceResult<SqliteFence> SqliteFence::open(sqlite3* database, SqliteFenceOptions options) {
  auto impl = std::make_unique<Impl>(database, options);
  if (auto error = impl->open()) return *std::move(error);
  return SqliteFence{std::move(impl)};
}

SqliteFence::SqliteFence(std::unique_ptr<Impl> impl) noexcept : impl_{std::move(impl)} {}
SqliteFence::~SqliteFence() = default;
SqliteFence::SqliteFence(SqliteFence&&) noexcept = default;
SqliteFence& SqliteFence::operator=(SqliteFence&&) noexcept = default;

FenceResult<void> SqliteFence::writeCoded(const TermStamp& stamp, const std::function<int(sqlite3*)>& work) {
  return impl_->write(stamp, work);
}

FenceResult<std::optional<TermStamp>> SqliteFence::highestSeen(const std::string& lease) {
  return impl_->highestSeen(lease);
}

}  // namespace tenure
