// The fence's contract on a database file of SQLite.
#include <memory>
#include <string>
#include <vector>

#include <sqlite3.h>

#include <tenure/adapters/fenced_writer.hpp>
#include <tenure/adapters/sqlite_fence.hpp>

#include "adapters/contract/fence_contract.hpp"
#include "adapters/test_database.hpp"
#include "support/temp_dir.hpp"

namespace tenure::contract {
namespace {

using namespace std::chrono_literals;
using Work = int (*)(sqlite3*);
static_assert(FencedWriter<SqliteFence, Work> && ReadableFence<SqliteFence>);

class SqliteHandle final : public FenceHandle {
 public:
  explicit SqliteHandle(const std::string& file) : database_{file} {
    database_.exec("PRAGMA synchronous = OFF");  // processes are killed here, not machines
    fence_.emplace(SqliteFence::open(database_.raw(), {.busyTimeout = 200ms}).value());
  }

  FenceResult<void> write(const TermStamp& stamp, const std::string& entry,
                          const std::function<void()>& inside) override {
    return fence_->write(stamp, [&](sqlite3*) {
      if (inside) inside();
      return insert(stamp, entry);
    });
  }
  FenceResult<void> writeUnder(const FencedTerm& term, const std::string& entry) override {
    return fence_->write(term, [&](sqlite3*) { return insert(term.stamp(), entry); });
  }
  bool writeBare(const TermStamp& stamp, const std::string& entry) override {
    return insert(stamp, entry) == SQLITE_OK;
  }
  FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease) override {
    return fence_->highestSeen(lease);
  }

 private:
  int insert(const TermStamp& stamp, const std::string& entry) {
    std::unique_ptr<char, decltype(&sqlite3_free)> sql{
        sqlite3_mprintf("INSERT INTO ledger(token, holder, entry) VALUES(%lld, %Q, %Q)",
                        static_cast<long long>(stamp.token.value()), stamp.holder.c_str(), entry.c_str()),
        &sqlite3_free};
    return database_.tryExec(sql.get());
  }

  test::TestDatabase database_;
  std::optional<SqliteFence> fence_;
};

class SqliteResource final : public FencedResource {
 public:
  SqliteResource() {
    reader_.exec("PRAGMA journal_mode = WAL");
    reader_.waitForLocks(30s);
    reader_.exec(
        "CREATE TABLE ledger(id INTEGER PRIMARY KEY AUTOINCREMENT, token INTEGER NOT NULL, holder TEXT NOT NULL,"
        " entry TEXT NOT NULL)");
  }

  std::string address() const override { return file_; }
  std::vector<FencedEntry> entries() override {
    std::vector<FencedEntry> found;
    const auto add = [](void* out, int, char** values, char**) {
      static_cast<std::vector<FencedEntry>*>(out)->push_back(
          {FencingToken{std::stoull(values[0])}, values[1], values[2]});
      return 0;
    };
    const int code =
        sqlite3_exec(reader_.raw(), "SELECT token, holder, entry FROM ledger ORDER BY id", add, &found, nullptr);
    if (code != SQLITE_OK) throw std::runtime_error{reader_.message()};
    return found;
  }
  bool plant(const TermStamp& memory) override {
    const test::TestDatabase operators{file_};
    operators.exec("PRAGMA ignore_check_constraints = ON");  // a table that an older release created allows it
    operators.exec("BEGIN IMMEDIATE; DELETE FROM tenure_fence_guard WHERE lease = '" + memory.lease +
                   "'; INSERT INTO tenure_fence_guard(lease, token, holder, since) VALUES('" + memory.lease + "', " +
                   toString(memory.token) + ", '" + memory.holder + "', ''); COMMIT");
    return true;
  }

 private:
  const test::TempDir directory_;
  const std::string file_ = directory_.file("ledger.db");
  const test::TestDatabase reader_{file_};
};

const FenceUnderTest sqlite =
    registerFence({.name = "Sqlite",
                   .make = [] { return std::make_unique<SqliteResource>(); },
                   .open = [](const std::string& address) { return std::make_unique<SqliteHandle>(address); },
                   .pausesInside = true});

INSTANTIATE_TEST_SUITE_P(Sqlite, FenceContract, testing::Values(sqlite), fenceName);
INSTANTIATE_TEST_SUITE_P(Sqlite, FenceRaceContract, testing::Values(sqlite), fenceName);
INSTANTIATE_TEST_SUITE_P(Sqlite, FenceFreezeContract, testing::Values(sqlite), fenceName);

}  // namespace
}  // namespace tenure::contract
