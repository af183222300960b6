#include <cstring>
#include <utility>
#include <vector>

#include <tenure/adapters/postgresql_fence.hpp>

#include "adapters/fence/src/fence_text.hpp"
#include "connection.hpp"
#include "lease_row.hpp"
#include "statements.hpp"

namespace tenure {

using postgresql_fence::Connection;
using postgresql_fence::isDone;
using postgresql_fence::Result;
using postgresql_fence::Statements;

namespace {

using Seen = std::optional<TermStamp>;

constexpr int columnsOfALook = 2;

bool isLook(const PGresult* result) {
  return PQresultStatus(result) == PGRES_TUPLES_OK && PQnfields(result) == columnsOfALook;
}

}  // namespace

PostgresqlResult::PostgresqlResult(pg_result* result) noexcept : result_{result, &PQclear} {}

class PostgresqlFence::Impl {
 public:
  Impl(PGconn* connection, const PostgresqlFenceOptions& options, const std::string& schema)
      : connection_{connection}, sql_{connection_, options, schema} {}

  [[nodiscard]] std::optional<FenceError> check(const std::string& sql, const std::string& table, bool& exists);
  [[nodiscard]] std::optional<FenceError> makeTable();
  [[nodiscard]] std::optional<FenceError> findLeaseTable();
  [[nodiscard]] FenceResult<void> write(const TermStamp& stamp, const std::function<Judged(pg_conn*)>& work);
  [[nodiscard]] FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease);

 private:
  [[nodiscard]] FenceResult<Seen> seenIn(const PGresult* row, const std::string& lease) const;
  [[nodiscard]] std::optional<FenceError> admit(const TermStamp& stamp, bool own);
  [[nodiscard]] std::optional<FenceError> errorByLease(const TermStamp& stamp, const PGresult* locked);
  [[nodiscard]] std::optional<FenceError> remember(const TermStamp& stamp);
  [[nodiscard]] std::optional<FenceError> faultOfWork(const Judged& judged) const;
  [[nodiscard]] std::optional<FenceError> finish(bool own);
  void rollBack(bool own) noexcept;

  const Connection connection_;
  const Statements sql_;
};

/// What is wrong with a table, by a query in a transaction of its own. `exists` is believed of rows only.
std::optional<FenceError> PostgresqlFence::Impl::check(const std::string& sql, const std::string& table, bool& exists) {
  const std::vector<Result> answers = connection_.execAll(sql);
  const PGresult* last = answers.back().get();
  const PGresult* row = answers.size() < 2 ? nullptr : answers.end()[-2].get();
  if (!isDone(last) || PQresultStatus(row) != PGRES_TUPLES_OK || PQnfields(row) != 1) {
    FenceError error = connection_.errorOf("examining " + table, last);
    if (connection_.state() != PQTRANS_IDLE) (void)connection_.exec("ROLLBACK");
    return error;
  }
  exists = PQntuples(row) > 0;
  const std::string fault = exists ? PQgetvalue(row, 0, 0) : "";
  if (fault.empty()) return std::nullopt;
  return connection_.misuse(table + ' ' + fault);
}

std::optional<FenceError> PostgresqlFence::Impl::makeTable() {
  bool exists = false;
  if (auto error = check(sql_.checkTable(), "the fence's " + sql_.tableName(), exists)) return error;
  const Result there = exists ? connection_.exec(sql_.look("")) : connection_.exec(sql_.makeTable());
  if (isDone(there.get())) return std::nullopt;
  const std::string doing = exists ? "reading" : "making";
  FenceError error = connection_.errorOf(doing + " the fence's table tenure_fence_guard", there.get());
  if (connection_.state() != PQTRANS_IDLE) (void)connection_.exec("ROLLBACK");
  return error;
}

std::optional<FenceError> PostgresqlFence::Impl::findLeaseTable() {
  if (!sql_.checksLease()) return std::nullopt;
  bool exists = false;
  if (auto error = check(sql_.checkLeaseTable(), "the leases' " + sql_.leaseTableName(), exists)) return error;
  const Result found = connection_.exec(sql_.lockLeaseRow({}));
  if (isDone(found.get())) return std::nullopt;
  return connection_.errorOf("locking a row of the leases' " + sql_.leaseTableName() +
                                 " (which the store makes at its first use, or `tenure init`)",
                             found.get());
}

/// A row of the guard. Its token may be zero, which a DBA's script leaves before the first write. That there is no row
/// is believed only if the answer has the columns that were asked for.
FenceResult<Seen> PostgresqlFence::Impl::seenIn(const PGresult* row, const std::string& lease) const {
  if (!isLook(row)) return connection_.errorOf("reading the fence's table tenure_fence_guard", row);
  if (PQntuples(row) == 0) return Seen{};
  const std::string text = PQgetvalue(row, 0, 0);
  const auto token = parseFencingToken(text);
  if (token) return Seen{TermStamp{lease, *token, PQgetvalue(row, 0, 1)}};
  if (text == "0") return Seen{};
  return damagedFence(connection_.name() + ", table tenure_fence_guard", lease, text);
}

std::optional<FenceError> PostgresqlFence::Impl::admit(const TermStamp& stamp, bool own) {
  if (own && !connection_.hearsWarnings()) {
    return connection_.misuse(
        "a notice receiver that was set with PQsetNoticeReceiver keeps the server's warnings about the COMMIT of a "
        "fenced write from the fence; use PQsetNoticeProcessor instead");
  }
  const std::vector<Result> answers = connection_.execAll(sql_.begin(stamp, own));
  const PGresult* row = answers.back().get();
  if (!isDone(row)) {
    return connection_.errorOf(
        sql_.checksLease() ? "locking the lease's row and the fence's" : "locking the fence's row", row);
  }
  if (sql_.checksLease()) {
    if (auto error = errorByLease(stamp, answers.size() < 2 ? nullptr : answers.end()[-2].get())) return error;
  }
  const auto found = seenIn(row, stamp.lease);
  if (!found) return found.error();
  const Seen& seen = *found;
  if (auto error = termError(stamp, seen)) return error;
  if (seen && !seen->holder.empty()) return std::nullopt;  // it is known; nobody can raise the token before it ends
  return remember(stamp);
}

/// That the row shows the term is believed only if the statement with the lock has returned it. Why it has not is read
/// without a lock, for the error alone.
std::optional<FenceError> PostgresqlFence::Impl::errorByLease(const TermStamp& stamp, const PGresult* locked) {
  const postgresql_fence::LeaseRowCheck check{connection_, stamp, sql_.leaseTableName()};
  if (check.proves(locked)) return std::nullopt;
  if (locked != nullptr && PQntuples(locked) > 0) return check.errorOf(locked);
  const Result row = connection_.exec(sql_.lookAtLease(stamp.lease));
  return check.errorOf(row.get());
}

std::optional<FenceError> PostgresqlFence::Impl::remember(const TermStamp& stamp) {
  const Result raised = connection_.exec(sql_.remember(stamp));
  if (!isDone(raised.get())) return connection_.errorOf("writing the fence's table tenure_fence_guard", raised.get());
  if (PQntuples(raised.get()) == 1 && PQgetvalue(raised.get(), 0, 0) == toString(stamp.token)) return std::nullopt;
  const Result row = connection_.exec(sql_.look(stamp.lease));  // the row of the other writer; it is locked now
  const auto seen = seenIn(row.get(), stamp.lease);
  if (!seen) return seen.error();
  if (auto error = termError(stamp, *seen)) return error;
  return connection_.misuse("the fence's table tenure_fence_guard has refused a token without having a higher one");
}

FenceResult<void> PostgresqlFence::Impl::write(const TermStamp& stamp, const std::function<Judged(pg_conn*)>& work) {
  if (auto error = errorOf(stamp)) return *std::move(error);
  const PGTransactionStatusType state = connection_.state();
  if (state == PQTRANS_INERROR || state == PQTRANS_ACTIVE) {
    return connection_.misuse(state == PQTRANS_ACTIVE
                                  ? "a fenced write was begun while the connection was busy with another statement"
                                  : "a fenced write was begun in a transaction that has failed; roll it back first");
  }
  const bool own = state != PQTRANS_INTRANS;
  if (auto error = admit(stamp, own)) {
    rollBack(own);
    return *std::move(error);
  }
  std::optional<FenceError> error;
  try {
    error = faultOfWork(work(connection_.raw()));
  } catch (...) {
    rollBack(own);
    throw;
  }
  if (!error) error = finish(own);
  if (!error) return {};
  rollBack(own);
  return *std::move(error);
}

std::optional<FenceError> PostgresqlFence::Impl::faultOfWork(const Judged& judged) const {
  const auto* last = std::get_if<PostgresqlResult>(&judged);
  if (last != nullptr && !isDone(last->get())) return connection_.errorOf("the work of a fenced write", last->get());
  if (PQstatus(connection_.raw()) == CONNECTION_BAD) return connection_.errorOf("the work of a fenced write", nullptr);
  if (last == nullptr && !std::get<bool>(judged))
    return connection_.misuse("the work of a fenced write returned false, so nothing is committed");
  if (connection_.state() == PQTRANS_INERROR) {
    return connection_.misuse(
        "a statement of the work of a fenced write has failed; let the work return its PostgresqlResult, so that this "
        "error gives the cause");
  }
  if (connection_.state() == PQTRANS_ACTIVE) {
    return connection_.misuse("the work of a fenced write has left a statement or COPY unfinished");
  }
  return std::nullopt;
}

std::optional<FenceError> PostgresqlFence::Impl::finish(bool own) {
  const bool ended = connection_.state() != PQTRANS_INTRANS;
  std::string warning;
  const Result closed = ended ? nullptr
                        : own ? connection_.execHearing(sql_.end(own), warning)
                              : connection_.exec(sql_.end(own));
  constexpr std::string_view noSuchSavepoint = "3B001";
  if (ended || postgresql_fence::sqlState(closed.get()) == noSuchSavepoint) {
    return connection_.misuse(
        "the work of a fenced write has ended the transaction that fenced it; what it wrote after that may be stale, "
        "so "
        "take COMMIT and ROLLBACK out of it",
        true);
  }
  // A COMMIT that has rolled back answers ROLLBACK, which is no error.
  const bool committed =
      isDone(closed.get()) && std::strcmp(PQcmdStatus(closed.get()), own ? "COMMIT" : "RELEASE") == 0;
  if (committed && warning.empty()) return std::nullopt;
  if (committed)
    return fenceError({ErrorClass::transient, connection_.name() + ": committing a fenced write: " + warning +
                                                  ". It may be lost if this server is; once a later write on this "
                                                  "connection is acknowledged, it is not"},
                      true);
  // Either the server said why it did not commit; or it is gone, and nobody knows.
  const bool unknown =
      postgresql_fence::sqlState(closed.get()).empty() || PQstatus(connection_.raw()) == CONNECTION_BAD;
  return connection_.errorOf("committing a fenced write", closed.get(), own && unknown);
}

void PostgresqlFence::Impl::rollBack(bool own) noexcept {
  const PGTransactionStatusType state = connection_.state();
  if (state == PQTRANS_IDLE || state == PQTRANS_UNKNOWN) return;
  (void)connection_.exec(sql_.rollBack(own));
}

FenceResult<std::optional<TermStamp>> PostgresqlFence::Impl::highestSeen(const std::string& lease) {
  const Result row = connection_.exec(sql_.look(lease));
  return seenIn(row.get(), lease);
}

FenceResult<PostgresqlFence> PostgresqlFence::open(pg_conn* raw, PostgresqlFenceOptions options) {
  const Connection connection{raw};
  if (PQstatus(raw) != CONNECTION_OK) return connection.errorOf("opening a fence", nullptr);
  if (connection.state() != PQTRANS_IDLE) return connection.misuse("a fence is opened outside of transactions only");
  const char* encoding = PQparameterStatus(raw, "client_encoding");
  if (encoding == nullptr || std::strcmp(encoding, "UTF8") != 0) {
    return connection.misuse("client_encoding is " + std::string{encoding == nullptr ? "unknown" : encoding} +
                             "; a fence needs UTF8 (PQsetClientEncoding)");
  }
  if (options.schema.empty()) {
    const Result schema = connection.exec("SELECT pg_catalog.current_schema()");
    if (!isDone(schema.get())) return connection.errorOf("asking for the schema", schema.get());
    options.schema = PQgetvalue(schema.get(), 0, 0);
    if (options.schema.empty()) {
      return connection.misuse("the search path names no schema that exists; name one in PostgresqlFenceOptions");
    }
  }
  auto impl = std::make_unique<Impl>(raw, options, options.schema);
  if (auto error = impl->makeTable()) return *std::move(error);
  if (auto error = impl->findLeaseTable()) return *std::move(error);
  return PostgresqlFence{std::move(impl)};
}

PostgresqlFence::PostgresqlFence(std::unique_ptr<Impl> impl) noexcept : impl_{std::move(impl)} {}
PostgresqlFence::~PostgresqlFence() = default;
PostgresqlFence::PostgresqlFence(PostgresqlFence&&) noexcept = default;
PostgresqlFence& PostgresqlFence::operator=(PostgresqlFence&&) noexcept = default;

FenceResult<void> PostgresqlFence::writeJudged(const TermStamp& stamp, const std::function<Judged(pg_conn*)>& work) {
  return impl_->write(stamp, work);
}

FenceResult<std::optional<TermStamp>> PostgresqlFence::highestSeen(const std::string& lease) {
  return impl_->highestSeen(lease);
}

}  // namespace tenure
