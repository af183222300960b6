// What the tests of the PostgreSQL store on a real server share.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include <tenure/lockcore/stores/postgresql_store.hpp>

#include "adapters/postgresql_database.hpp"
#include "contract/store_calls.hpp"

namespace tenure::postgresql_store {

using namespace contract;
using namespace std::chrono_literals;

class PostgresqlStoreTest : public testing::Test {
 protected:
  PostgresqlStoreTest() {
    hand_.exec("SET search_path = " + schema_.name());
    store_.ensureSchema();
  }
  ~PostgresqlStoreTest() override {
    store_.drop();
    for (const std::string& fault : ledger_->faults()) ADD_FAILURE() << fault;
  }

  [[nodiscard]] PostgresqlStoreOptions options() const {
    return {.connection = test::postgresqlUrl(), .schema = schema_.name()};
  }
  [[nodiscard]] StoreCalls calls(std::shared_ptr<LeaseStore> store) const { return {std::move(store), ledger_}; }
  [[nodiscard]] StoreCalls& store() { return store_; }
  [[nodiscard]] const test::PostgresqlConnection& hand() const { return hand_; }
  [[nodiscard]] const std::string& schema() const { return schema_.name(); }
  [[nodiscard]] std::string presentHistory() {
    return hand_.text("SELECT (SELECT system_identifier FROM pg_control_system()) || '/1'");
  }

  /// Another session, in a transaction.
  [[nodiscard]] std::unique_ptr<test::PostgresqlConnection> transaction() const {
    auto connection = std::make_unique<test::PostgresqlConnection>(schema_.name());
    connection->exec("BEGIN");
    return connection;
  }

 private:
  std::shared_ptr<CallLedger> ledger_ = std::make_shared<CallLedger>();
  const test::PostgresqlSchema schema_;
  const test::PostgresqlConnection hand_;
  StoreCalls store_{makePostgresqlStore(options()), ledger_};
};

inline bool isTransient(const WriteOutcome& outcome) {
  const auto* rejected = std::get_if<Rejected>(&outcome);
  return rejected != nullptr && rejected->error.errorClass == ErrorClass::transient;
}

}  // namespace tenure::postgresql_store
