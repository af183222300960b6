// Races and freezes on a table of SQLite that only `tenure fence install-sql` guards: the writers know plain SQL.
#include <memory>
#include <string>
#include <vector>

#include <sqlite3.h>

#include "adapters/contract/fence_contract.hpp"
#include "adapters/contract/printed_sql.hpp"
#include "adapters/test_database.hpp"
#include "support/temp_dir.hpp"

namespace tenure::contract {
namespace {

using namespace std::chrono_literals;

class PlainHandle final : public FenceHandle {
 public:
  explicit PlainHandle(const std::string& file) : database_{file} {
    database_.exec("PRAGMA synchronous = OFF");
    database_.waitForLocks(200ms);
  }

  FenceResult<void> write(const TermStamp& stamp, const std::string& entry,
                          const std::function<void()>& inside) override {
    int code = database_.tryExec("BEGIN IMMEDIATE");
    if (code == SQLITE_OK) code = database_.tryExec(insert("ledger", stamp, entry));
    if (code == SQLITE_OK && inside) inside();
    if (code == SQLITE_OK) code = database_.tryExec("COMMIT");
    if (code == SQLITE_OK) return {};
    const std::string message = database_.message();
    if (sqlite3_get_autocommit(database_.raw()) == 0) database_.exec("ROLLBACK");
    if (code == SQLITE_CONSTRAINT) {
      if (auto error = termError(stamp, *highestSeen(stamp.lease))) return *error;
    }
    return fenceError({code == SQLITE_BUSY ? ErrorClass::transient : ErrorClass::misconfigured, message});
  }
  FenceResult<void> writeUnder(const FencedTerm& term, const std::string& entry) override {
    return underTerm(term, [&](const TermStamp& stamp) { return write(stamp, entry, {}); });
  }
  bool writeBare(const TermStamp& stamp, const std::string& entry) override {
    return database_.tryExec(insert("bare", stamp, entry)) == SQLITE_OK;
  }
  FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease) override {
    const auto token = database_.number("SELECT coalesce(max(token), 0) FROM tenure_fence_guard");
    if (token == 0) return std::optional<TermStamp>{};
    return std::optional{TermStamp{lease, FencingToken{static_cast<std::uint64_t>(token)}, ""}};
  }

 private:
  static std::string insert(const std::string& table, const TermStamp& stamp, const std::string& entry) {
    return "INSERT INTO " + table + "(token, holder, entry) VALUES(" + toString(stamp.token) + ", '" + stamp.holder +
           "', '" + entry + "')";
  }

  test::TestDatabase database_;
};

class GuardedTable final : public FencedResource {
 public:
  GuardedTable() {
    database_.exec("PRAGMA journal_mode = WAL");
    database_.waitForLocks(30s);
    for (const char* table : {"ledger", "bare"}) {
      database_.exec("CREATE TABLE " + std::string{table} + "(id INTEGER PRIMARY KEY, token INTEGER, holder, entry)");
    }
    // One common order for both tables: the fenced one, and the one that is written without the fence.
    database_.exec("CREATE TABLE entries(id INTEGER PRIMARY KEY AUTOINCREMENT, token INTEGER, holder, entry)");
    for (const char* table : {"ledger", "bare"}) {
      database_.exec("CREATE TRIGGER copy_" + std::string{table} + " AFTER INSERT ON " + table +
                     " BEGIN INSERT INTO entries(token, holder, entry) VALUES(NEW.token, NEW.holder, NEW.entry); END");
    }
    database_.exec(printedSql("--dialect sqlite --table ledger --lease contract --token-column token"));
  }

  std::string address() const override { return file_; }
  std::vector<FencedEntry> entries() override {
    std::vector<FencedEntry> found;
    const auto add = [](void* out, int, char** values, char**) {
      static_cast<std::vector<FencedEntry>*>(out)->push_back(
          {FencingToken{std::stoull(values[0])}, values[1], values[2]});
      return 0;
    };
    const char* sql = "SELECT token, holder, entry FROM entries ORDER BY id";
    if (sqlite3_exec(database_.raw(), sql, add, &found, nullptr) != SQLITE_OK) {
      throw std::runtime_error{database_.message()};
    }
    return found;
  }

 private:
  const test::TempDir directory_;
  const std::string file_ = directory_.file("ledger.db");
  const test::TestDatabase database_{file_};
};

const FenceUnderTest trigger =
    registerFence({.name = "SqliteTrigger",
                   .make = [] { return std::make_unique<GuardedTable>(); },
                   .open = [](const std::string& address) { return std::make_unique<PlainHandle>(address); },
                   .pausesInside = true});

// Not FenceContract: a trigger of SQLite sees the tokens in rows, but no holders.
INSTANTIATE_TEST_SUITE_P(Trigger, FenceRaceContract, testing::Values(trigger), fenceName);
INSTANTIATE_TEST_SUITE_P(Trigger, FenceFreezeContract, testing::Values(trigger), fenceName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FenceContract);

}  // namespace
}  // namespace tenure::contract
