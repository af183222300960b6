// Each handle has its own connections and threads, as in another process. The operator has a separate connection that
// knows the table, but not the store's code.
#include <stdexcept>

#include <tenure/lockcore/stores/postgresql_store.hpp>

#include "adapters/postgresql_database.hpp"
#include "contract/store_contract.hpp"

namespace tenure::contract {
namespace {

/// A schema for each test.
class PostgresqlFixture final : public StoreFixture {
 public:
  std::shared_ptr<LeaseStore> open() override {
    return makePostgresqlStore({.connection = test::postgresqlUrl(), .schema = schema_.name(), .table = table});
  }

  void eraseRecord(const LeaseKey& key) override {
    change(
        "UPDATE " + name() +
            " SET version = NULL, token = NULL, holder = NULL, released = NULL, liveness = NULL, data = '', attributes "
            "= '{}'",
        key);
  }
  void eraseCounter(const LeaseKey& key) override {
    if (!changeIfAny("UPDATE " + name() + " SET counter = 0, counter_lease_ms = 0", key, "version IS NOT NULL")) {
      change("DELETE FROM " + name(), key);
    }
  }
  void corruptRecord(const LeaseKey& key) override { change("UPDATE " + name() + " SET lease_ms = -5", key); }

  void setToken(const LeaseKey& key, std::uint64_t token) override {
    const std::string text = std::to_string(token);
    change(
        "UPDATE " + name() + " SET counter = " + text + ", token = CASE WHEN version IS NOT NULL THEN " + text + " END",
        key);
  }

  bool hintsOfRenewals() const override { return false; }

  /// Writes wait for this lock, reads pass.
  std::shared_ptr<void> stall() override {
    auto locker = std::make_shared<test::PostgresqlConnection>();
    locker->exec("BEGIN");
    locker->exec("LOCK TABLE " + name() + " IN EXCLUSIVE MODE");
    return locker;  // closing it rolls back
  }

 private:
  static constexpr const char* table = "it's a \"lease\"";

  [[nodiscard]] std::string name() const { return schema_.name() + ".\"it's a \"\"lease\"\"\""; }

  [[nodiscard]] bool changeIfAny(const std::string& sql, const LeaseKey& key, const std::string& condition) const {
    const auto quoted = [&](const std::string& text) {
      const std::unique_ptr<char, decltype(&PQfreemem)> literal{PQescapeLiteral(hand_.raw(), text.data(), text.size()),
                                                                &PQfreemem};
      return std::string{literal.get()};
    };
    return !hand_
                .rows(sql + " WHERE name = " + quoted(key.name) + " AND sort = " + quoted(key.sortKey) + " AND " +
                      condition + " RETURNING 1")
                .empty();
  }

  void change(const std::string& sql, const LeaseKey& key) const {
    if (!changeIfAny(sql, key, "true")) throw std::runtime_error{"no row for " + sql};
  }

  const test::PostgresqlSchema schema_;
  const test::PostgresqlConnection hand_;
};

const StoreUnderTest postgresql{"Postgresql", [] { return std::make_unique<PostgresqlFixture>(); }};

INSTANTIATE_TEST_SUITE_P(Postgresql, StoreContract, testing::Values(postgresql), storeName);
INSTANTIATE_TEST_SUITE_P(Postgresql, StoreRemoveContract, testing::Values(postgresql), storeName);
INSTANTIATE_TEST_SUITE_P(Postgresql, StoreRecoverContract, testing::Values(postgresql), storeName);
INSTANTIATE_TEST_SUITE_P(Postgresql, StoreWatchContract, testing::Values(postgresql), storeName);
INSTANTIATE_TEST_SUITE_P(Postgresql, StoreOperatorContract, testing::Values(postgresql), storeName);
INSTANTIATE_TEST_SUITE_P(Postgresql, StoreStallContract, testing::Values(postgresql), storeName);
INSTANTIATE_TEST_SUITE_P(Postgresql, StoreDurableContract, testing::Values(postgresql), storeName);

}  // namespace
}  // namespace tenure::contract
