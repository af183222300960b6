#include "postgresql_by_hand.hpp"

#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include <tenure/lockcore/clock.hpp>

#include "lockcore/stores/postgresql/src/jobs.hpp"
#include "lockcore/stores/postgresql/src/link/job_account.hpp"
#include "lockcore/stores/postgresql/src/statements.hpp"
#include "stats.hpp"

#include <libpq-fe.h>

namespace tenure::bench {
namespace {

using postgresql_store::Value;
using Answer = std::unique_ptr<PGresult, decltype(&PQclear)>;

constexpr const char* update =
    "UPDATE tenure_bench.lease SET version = $1, lease_ms = 10000, renewed_at = clock_timestamp() "
    "WHERE name = $3 AND version = $2 AND holder = 'me' RETURNING token";
constexpr const char* piped = "piped";
constexpr const char* bare = "bare";

}  // namespace

class PostgresqlByHand::Impl {
 public:
  explicit Impl(const std::string& url) : connection_{PQconnectdb(url.c_str())} {
    if (PQstatus(connection_) != CONNECTION_OK) fail();
    run("SET client_min_messages = warning; DROP SCHEMA IF EXISTS tenure_bench CASCADE; CREATE SCHEMA tenure_bench; "
        "CREATE TABLE tenure_bench.lease(name text PRIMARY KEY, version text, holder text, lease_ms bigint, token "
        "bigint, renewed_at timestamptz) WITH (fillfactor = 50); "
        "INSERT INTO tenure_bench.lease VALUES('piped', 'v0', 'me', 10000, 1), ('bare', 'v0', 'me', 10000, 1)");
  }
  ~Impl() {
    PQclear(PQexec(connection_, "DROP SCHEMA tenure_bench CASCADE"));
    PQfinish(connection_);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void pipeline(const std::string& from, const std::string& to) {
    if (PQenterPipelineMode(connection_) != 1) fail();
    send("BEGIN ISOLATION LEVEL READ COMMITTED");
    send(
        "SELECT set_config('synchronous_commit', 'on', true), set_config('lock_timeout', '1000', true), "
        "set_config('statement_timeout', '3000', true), set_config('idle_in_transaction_session_timeout', '3000', "
        "true), set_config('client_min_messages', 'warning', true)");
    send(update, {to, from, piped});
    send("COMMIT");
    send("SELECT * FROM tenure_bench.lease WHERE name = $1", {piped});
    readAnswers(3);
  }

  void storesOwn(const WriteRequest& renewal) {
    using namespace postgresql_store;
    if (!lease_) lease_ = leaseNow(renewal.key);
    const auto change = std::get<stored::Change>(stored::decideWrite("bench", renewal, *lease_));
    RowState next = stateAfter(postgresql_store::Place{}, *lease_, renewal.key, change);
    const Job job = Jobs::write(rowChangeOf(*lease_, change, next), true);
    const auto text = [this](StatementId id, bool history) -> const std::string& {
      return statements_.sql(id, history);
    };
    const std::vector<Value> settings = transactionSettings("on", std::chrono::seconds{3}, {});
    if (PQenterPipelineMode(connection_) != 1) fail();
    for (const Message& message : messagesOf(job, text, settingsText(PQserverVersion(connection_)), settings)) {
      send(message.sql.data(), message.values != nullptr ? *message.values : std::vector<Value>{});
    }
    readAnswers(2);
    lease_ = std::move(next);
  }

  void bareUpdate(const std::string& from, const std::string& to) {
    const char* values[] = {to.c_str(), from.c_str(), bare};
    expectRow(Answer{PQexecParams(connection_, update, 3, nullptr, values, nullptr, nullptr, 0), &PQclear}.get());
  }

  void advisoryLock() {
    run("SELECT pg_try_advisory_lock(1)");
    run("SELECT pg_advisory_unlock(1)");
  }

  [[nodiscard]] long commits() {
    const Answer row{PQexec(connection_, "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"),
                     &PQclear};
    expectRow(row.get());
    return std::stol(PQgetvalue(row.get(), 0, 0));
  }

 private:
  [[nodiscard]] postgresql_store::RowState leaseNow(const LeaseKey& key) const {
    using namespace postgresql_store;
    const char* values[] = {key.name.c_str(), key.sortKey.c_str()};
    const Answer row{PQexecParams(connection_, statements_.sql(StatementId::readLease, true).c_str(), 2, nullptr,
                                  values, nullptr, nullptr, 0),
                     &PQclear};
    expectRow(row.get());
    Row texts;
    for (int column = 0; column < PQnfields(row.get()); ++column) {
      const bool isNull = PQgetisnull(row.get(), 0, column) != 0;
      texts.push_back(isNull ? Value{} : Value{PQgetvalue(row.get(), 0, column)});
    }
    return leaseFrom(postgresql_store::Place{}, std::move(texts)).value();
  }
  [[noreturn]] void fail() const { throw std::runtime_error(PQerrorMessage(connection_)); }
  void run(const char* sql) {
    const Answer done{PQexec(connection_, sql), &PQclear};
    if (PQresultStatus(done.get()) != PGRES_COMMAND_OK && PQresultStatus(done.get()) != PGRES_TUPLES_OK) fail();
  }
  void expectRow(const PGresult* result) const {
    if (PQresultStatus(result) != PGRES_TUPLES_OK) fail();
    if (PQntuples(result) != 1) throw std::runtime_error("a statement by hand has met no row");
  }
  void send(const char* sql, const std::vector<Value>& values = {}) {
    std::vector<const char*> texts;
    for (const Value& value : values) texts.push_back(value ? value->c_str() : nullptr);
    if (PQsendQueryParams(connection_, sql, static_cast<int>(texts.size()), nullptr, texts.data(), nullptr, nullptr,
                          0) != 1) {
      fail();
    }
  }
  /// Of each statement in turn; a null result stands between two of them.
  void readAnswers(int expected) {
    if (PQpipelineSync(connection_) != 1) fail();
    int rows = 0;
    for (bool more = true; more;) {
      const Answer answer{PQgetResult(connection_), &PQclear};
      if (!answer) continue;
      const ExecStatusType status = PQresultStatus(answer.get());
      if (status == PGRES_PIPELINE_SYNC) {
        more = false;
      } else if (status == PGRES_TUPLES_OK) {
        rows += PQntuples(answer.get());
      } else if (status != PGRES_COMMAND_OK) {
        fail();
      }
    }
    if (rows != expected) throw std::runtime_error("a renewal by hand has changed nothing");
    if (PQexitPipelineMode(connection_) != 1) fail();
  }

  PGconn* connection_;
  const postgresql_store::Statements statements_{"public", "tenure_lease"};
  std::optional<postgresql_store::RowState> lease_{};  ///< of storesOwn(), as it was written last
};

PostgresqlByHand::PostgresqlByHand(const std::string& url) : impl_{std::make_unique<Impl>(url)} {}
PostgresqlByHand::~PostgresqlByHand() = default;
void PostgresqlByHand::pipeline(const std::string& from, const std::string& to) { impl_->pipeline(from, to); }
void PostgresqlByHand::storesOwn(const WriteRequest& renewal) { impl_->storesOwn(renewal); }
void PostgresqlByHand::bareUpdate(const std::string& from, const std::string& to) { impl_->bareUpdate(from, to); }
void PostgresqlByHand::advisoryLock() { impl_->advisoryLock(); }
long PostgresqlByHand::commits() { return impl_->commits(); }

double commitMillis(const std::string& url, int rounds) {
  PostgresqlByHand byHand{url};
  Sample sample;
  for (int n = 0; n < rounds; ++n) {
    const Instant from = readClock();
    byHand.bareUpdate("v" + std::to_string(n), "v" + std::to_string(n + 1));
    sample.add(static_cast<double>(elapsedForHolder(from, readClock()).count()) / 1e6);
  }
  sample.print("a bare UPDATE with its commit");
  return sample.percentile(0.5);
}

}  // namespace tenure::bench
