// A connection to the tests' PostgreSQL, and a schema of the test's own.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/runtime/system_random.hpp"

#include <libpq-fe.h>

namespace tenure::test {

inline std::string postgresqlUrl() {
  const char* url = std::getenv("TENURE_TEST_POSTGRESQL");
  if (url == nullptr)
    throw std::runtime_error{
        "run this by scripts/postgresql_local -- "
        "or by ctest"};
  return url;
}

/// Errors throw, and so fail the test.
class PostgresqlConnection {
 public:
  using Rows = std::vector<std::vector<std::string>>;

  /// Works in this schema; an empty one is the server's default.
  explicit PostgresqlConnection(const std::string& schema = {}) : connection_{PQconnectdb(postgresqlUrl().c_str())} {
    if (PQstatus(raw()) != CONNECTION_OK) throw std::runtime_error{PQerrorMessage(raw())};
    PQsetNoticeProcessor(
        raw(), [](void*, const char*) {}, nullptr);
    if (!schema.empty()) exec("SET search_path = \"" + schema + '"');
  }

  [[nodiscard]] PGconn* raw() const noexcept { return connection_.get(); }

  /// The SQLSTATE, or empty if it succeeded.
  [[nodiscard]] std::string tryExec(const std::string& sql) const {
    const Result result{PQexec(raw(), sql.c_str())};
    const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
    return state == nullptr ? std::string{} : std::string{state};
  }
  [[nodiscard]] std::string message() const { return PQerrorMessage(raw()); }
  void exec(const std::string& sql) const { (void)rows(sql); }
  /// The result of the last statement; empty text for NULL.
  [[nodiscard]] Rows rows(const std::string& sql) const {
    const Result result{PQexec(raw(), sql.c_str())};
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) throw std::runtime_error{sql + ": " + message()};
    Rows found;
    for (int row = 0; row < PQntuples(result.get()); ++row) {
      auto& columns = found.emplace_back();
      for (int column = 0; column < PQnfields(result.get()); ++column) {
        columns.emplace_back(PQgetvalue(result.get(), row, column));
      }
    }
    return found;
  }
  [[nodiscard]] std::string text(const std::string& sql) const { return rows(sql).at(0).at(0); }

 private:
  struct Finish {
    void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
  };
  struct Clear {
    void operator()(PGresult* result) const noexcept { PQclear(result); }
  };
  using Result = std::unique_ptr<PGresult, Clear>;
  std::unique_ptr<PGconn, Finish> connection_;
};

/// Dropped with the object, with everything in it.
class PostgresqlSchema {
 public:
  PostgresqlSchema() : name_{"t_" + std::to_string(getpid()) + '_' + std::to_string(SystemRandom{}.next())} {
    PostgresqlConnection{}.exec("CREATE SCHEMA " + name_);
  }
  ~PostgresqlSchema() {
    // Writers that were killed in the middle may still be connected for a moment.
    (void)PostgresqlConnection{}.tryExec("SET client_min_messages = error; DROP SCHEMA " + name_ + " CASCADE");
  }
  PostgresqlSchema(const PostgresqlSchema&) = delete;
  PostgresqlSchema& operator=(const PostgresqlSchema&) = delete;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  std::string name_;
};

}  // namespace tenure::test
