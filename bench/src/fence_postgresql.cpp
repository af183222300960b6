#include "fence_postgresql.hpp"

#include <stdexcept>
#include <utility>

#include <tenure/adapters/postgresql_fence.hpp>

#include <libpq-fe.h>

namespace tenure::bench {

class PostgresqlWrites::Impl {
 public:
  Impl(const std::string& url, TermStamp stamp) : connection_{PQconnectdb(url.c_str())}, stamp_{std::move(stamp)} {
    if (PQstatus(connection_) != CONNECTION_OK) fail();
    run("SET client_min_messages = warning; DROP SCHEMA IF EXISTS tenure_bench CASCADE; CREATE SCHEMA tenure_bench; "
        "CREATE TABLE tenure_bench.ledger(entry text)");
    fence_.emplace(PostgresqlFence::open(connection_, {.schema = "tenure_bench"}).value());
  }
  ~Impl() {
    fence_.reset();
    PQclear(PQexec(connection_, "DROP SCHEMA tenure_bench CASCADE"));
    PQfinish(connection_);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void bare() {
    run("BEGIN");
    if (PQresultStatus(insert().get()) != PGRES_COMMAND_OK) fail();
    run("COMMIT");
  }
  void fenced() {
    const auto written = fence_->write(stamp_, [this](PGconn*) { return insert(); });
    if (written.has_error()) throw std::runtime_error(FenceError{written.error()}.message);
  }

 private:
  [[noreturn]] void fail() const { throw std::runtime_error(PQerrorMessage(connection_)); }
  void run(const char* sql) {
    if (PQresultStatus(PostgresqlResult{PQexec(connection_, sql)}.get()) != PGRES_COMMAND_OK) fail();
  }
  [[nodiscard]] PostgresqlResult insert() const {
    const char* values[] = {"an entry of some forty bytes, as ledgers have"};
    return PostgresqlResult{PQexecParams(connection_, "INSERT INTO tenure_bench.ledger VALUES($1)", 1, nullptr, values,
                                         nullptr, nullptr, 0)};
  }

  PGconn* connection_;
  const TermStamp stamp_;
  std::optional<PostgresqlFence> fence_;
};

PostgresqlWrites::PostgresqlWrites(const std::string& url, TermStamp stamp)
    : impl_{std::make_unique<Impl>(url, std::move(stamp))} {}
PostgresqlWrites::~PostgresqlWrites() = default;
void PostgresqlWrites::bare() { impl_->bare(); }
void PostgresqlWrites::fenced() { impl_->fenced(); }

}  // namespace tenure::bench
