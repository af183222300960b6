// The store's statements on the tests' server, one at a time.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/postgresql_database.hpp"
#include "lockcore/stores/postgresql/src/statements.hpp"

#include <libpq-fe.h>

namespace tenure::postgresql_store {

class StatementServer {
 public:
  explicit StatementServer(const std::string& schema)
      : statements_{schema, "tenure_lease"}, connection_{PQconnectdb(test::postgresqlUrl().c_str()), PQfinish} {
    static_cast<void>(run({StatementId::createTable}));
  }

  [[nodiscard]] std::vector<Row> run(const Statement& statement) const {
    return ask(statements_.sql(statement.id, true), statement.values);
  }

  [[nodiscard]] std::vector<Row> ask(const std::string& sql, const std::vector<Value>& values) const {
    std::vector<const char*> texts;
    for (const Value& value : values) texts.push_back(value ? value->c_str() : nullptr);
    const std::unique_ptr<PGresult, decltype(&PQclear)> result{
        PQexecParams(connection_.get(), sql.c_str(), static_cast<int>(texts.size()), nullptr, texts.data(), nullptr,
                     nullptr, 0),
        PQclear};
    EXPECT_EQ(std::string{PQresultErrorMessage(result.get())}, "") << sql;
    std::vector<Row> rows;
    for (int i = 0; i < PQntuples(result.get()); ++i) {
      Row row;
      for (int c = 0; c < PQnfields(result.get()); ++c) {
        row.push_back(PQgetisnull(result.get(), i, c) != 0 ? Value{} : Value{PQgetvalue(result.get(), i, c)});
      }
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  Statements statements_;
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

}  // namespace tenure::postgresql_store
