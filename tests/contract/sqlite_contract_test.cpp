#include <stdexcept>

#include <sqlite3.h>

#include <tenure/lockcore/stores/sqlite_store.hpp>

#include "contract/store_contract.hpp"
#include "support/temp_dir.hpp"

namespace tenure::contract {
namespace {

struct CloseDatabase {
  void operator()(sqlite3* database) const noexcept { sqlite3_close(database); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

void check(int code, sqlite3* database, const std::string& what) {
  if (code != SQLITE_OK && code != SQLITE_DONE) throw std::runtime_error{what + ": " + sqlite3_errmsg(database)};
}

/// Each handle has its own connections and threads, as in another process. The operator has a separate connection that
/// knows the tables, but not the store's code.
class SqliteFixture final : public StoreFixture {
 public:
  std::shared_ptr<LeaseStore> open() override { return makeSqliteStore({.path = file_}); }

  void eraseRecord(const LeaseKey& key) override {
    change("DELETE FROM tenure_lease WHERE name = ? AND sort_key = ?", key);
  }
  void eraseCounter(const LeaseKey& key) override {
    change("DELETE FROM tenure_fence WHERE name = ? AND sort_key = ?", key);
  }
  void corruptRecord(const LeaseKey& key) override {
    change("UPDATE tenure_lease SET lease_ms = -5 WHERE name = ? AND sort_key = ?", key);
  }

  void setToken(const LeaseKey& key, std::uint64_t token) override {
    const std::string set = " SET token = " + std::to_string(token) + " WHERE name = ? AND sort_key = ?";
    change(("UPDATE tenure_lease" + set).c_str(), key);
    change(("UPDATE tenure_fence" + set).c_str(), key);
  }

  std::shared_ptr<void> stall() override {
    std::shared_ptr<sqlite3> database = connect();
    check(sqlite3_exec(database.get(), "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), database.get(), "BEGIN");
    return database;  // closing it rolls back
  }

 private:
  Database connect() const {
    sqlite3* raw = nullptr;
    const int code = sqlite3_open_v2(file_.c_str(), &raw, SQLITE_OPEN_READWRITE, nullptr);
    Database database{raw};
    check(code, raw, "opening " + file_);
    sqlite3_busy_timeout(raw, 10'000);
    return database;
  }

  void change(const char* sql, const LeaseKey& key) const {
    const Database database = connect();
    sqlite3_stmt* raw = nullptr;
    check(sqlite3_prepare_v2(database.get(), sql, -1, &raw, nullptr), database.get(), sql);
    const std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement{raw};
    sqlite3_bind_text(raw, 1, key.name.c_str(), -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(raw, 2, key.sortKey.c_str(), -1, SQLITE_TRANSIENT);
    check(sqlite3_step(raw), database.get(), sql);
    if (sqlite3_changes(database.get()) != 1) throw std::runtime_error{std::string{"no row for "} + sql};
  }

  const test::TempDir directory_;
  const std::string file_ = directory_.file("leases.db");
};

const StoreUnderTest sqlite{"Sqlite", [] { return std::make_unique<SqliteFixture>(); }};

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract, testing::Values(sqlite), storeName);
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreRemoveContract, testing::Values(sqlite), storeName);
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreRecoverContract, testing::Values(sqlite), storeName);
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreWatchContract, testing::Values(sqlite), storeName);
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreOperatorContract, testing::Values(sqlite), storeName);
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreStallContract, testing::Values(sqlite), storeName);
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreDurableContract, testing::Values(sqlite), storeName);

}  // namespace
}  // namespace tenure::contract
