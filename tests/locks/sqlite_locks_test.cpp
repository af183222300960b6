// Locks on a real SQLite file, between real processes.
#include <random>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <tenure/adapters/sqlite_fence.hpp>
#include <tenure/lockcore/lock_client.hpp>
#include <tenure/lockcore/stores/sqlite_store.hpp>

#include "locks/workers.hpp"
#include "support/temp_dir.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

class SqliteLocks : public testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<LeaseStore> store() const { return makeSqliteStore({directory.file("locks.db")}); }
  TempDir directory;
};

TEST_F(SqliteLocks, S1_01_S4_02_eightProcessesCountExactly) {
  const int each = sections(25);
  const CounterFile counter{directory.file("counter")};
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(spawn([&] {
      LockClient client{store()};
      for (int s = 0; s < each; ++s) {
        LockResult<Lock> lock = client.acquire({"counter"}, {.waitFor = 200s});
        if (lock.has_error()) return 1;
        counter.increment();
        if (!lock->isHeld()) return 2;
        if (lock->release() != ReleaseResult::released) return 3;
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(exitOf(child), 0);
  EXPECT_EQ(counter.read(), 8 * each);
}

/// A database that workers count in, each increment under the fence and together with whose it was.
class Ledger {
 public:
  explicit Ledger(const std::string& path) {
    sqlite3_open(path.c_str(), &db_);
    sqlite3_busy_timeout(db_, 20'000);
    run("PRAGMA journal_mode=WAL");
    run("CREATE TABLE IF NOT EXISTS total(n INTEGER)");
    run("INSERT INTO total SELECT 0 WHERE NOT EXISTS(SELECT 1 FROM total)");
    run("CREATE TABLE IF NOT EXISTS done(worker INTEGER PRIMARY KEY, n INTEGER)");
  }
  ~Ledger() { sqlite3_close(db_); }
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  [[nodiscard]] sqlite3* handle() const { return db_; }
  int run(const std::string& sql) { return sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr); }
  [[nodiscard]] long number(const std::string& sql) const {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr);
    const long value =
        sqlite3_step(statement) == SQLITE_ROW ? static_cast<long>(sqlite3_column_int64(statement, 0)) : 0;
    sqlite3_finalize(statement);
    return value;
  }
  [[nodiscard]] long doneBy(int worker) const {
    return number("SELECT n FROM done WHERE worker=" + std::to_string(worker));
  }

 private:
  sqlite3* db_{nullptr};
};

/// One section, read and write apart: first the fence learns of this term, so that no earlier one writes behind the
/// read. False: refused, or the lock was not to be had; to be done again.
bool countOnce(LockClient& client, Ledger& ledger, SqliteFence& fence, int worker) {
  LockResult<Lock> lock = client.acquire({"counter"}, {.lease = 400ms, .waitFor = 100s});
  if (lock.has_error()) return false;
  const TermStamp stamp = TermStamp::of(*lock);
  if (fence.write(stamp, [](sqlite3*) {}).has_error()) return false;
  const long next = ledger.number("SELECT n FROM total") + 1;
  const std::string id = std::to_string(worker);
  return fence
      .write(stamp,
             [&](sqlite3*) {
               if (ledger.run("UPDATE total SET n=" + std::to_string(next)) != SQLITE_OK) return SQLITE_ERROR;
               return ledger.run("INSERT INTO done VALUES(" + id + ", 1) ON CONFLICT(worker) DO UPDATE SET n=n+1");
             })
      .has_value();
}

int countUntil(const std::string& locks, const std::string& ledgerPath, int worker, int each) {
  LockClient client{makeSqliteStore({locks})};
  Ledger ledger{ledgerPath};
  auto fence = SqliteFence::open(ledger.handle());
  if (fence.has_error()) return 1;
  while (ledger.doneBy(worker) < each) (void)countOnce(client, ledger, *fence, worker);
  return 0;
}

TEST_F(SqliteLocks, S3_43_S3_41_fencedCountsAreExactUnderKillsAndStops) {
  const int each = sections(25);
  const std::string locks = directory.file("locks.db");
  const std::string ledgerPath = directory.file("ledger.db");
  { const Ledger made{ledgerPath}; }
  constexpr int workers = 8;
  const auto begin = [&](int worker) {
    return spawn([&, worker] { return countUntil(locks, ledgerPath, worker, each); });
  };
  std::vector<pid_t> children;
  for (int worker = 0; worker < workers; ++worker) children.push_back(begin(worker));
  std::mt19937 generator{4711};
  const auto random = [&] { return static_cast<unsigned>(generator()); };
  int kills = 0;
  int stops = 0;
  const auto left = [&] {
    return std::count_if(children.begin(), children.end(), [](pid_t child) { return child > 0; });
  };
  while (left() > 0) {
    usleep(20'000 + random() % 60'000);  // lint-allow(sleep): faults come at random moments
    const std::size_t victim = random() % workers;
    pid_t& child = children[victim];
    if (child <= 0) continue;
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
      child = 0;
    } else if (random() % 2 == 0 && kills < 40) {
      kill(child, SIGKILL);
      EXPECT_EQ(exitOf(child), -1);
      child = begin(static_cast<int>(victim));
      ++kills;
    } else if (stops < 40) {
      kill(child, SIGSTOP);
      usleep(random() % 700'000);  // lint-allow(sleep): for longer than its lease, now and then
      kill(child, SIGCONT);
      ++stops;
    }
  }
  const Ledger ledger{ledgerPath};
  EXPECT_EQ(ledger.number("SELECT n FROM total"), workers * each);
  EXPECT_EQ(ledger.number("SELECT sum(n) FROM done"), workers * each);
  EXPECT_GT(kills, 0);
  EXPECT_GT(stops, 0);
}

TEST_F(SqliteLocks, S1_29_S4_20_aReleasedLockIsTakenAtOnceByAnotherProcess) {
  const pid_t child = spawn([&] {
    LockClient client{store()};
    LockResult<Lock> lock = client.acquire({"orders"}, {.lease = 60s});
    usleep(300'000);  // lint-allow(sleep): the other shall wait
    return lock->release() == ReleaseResult::released ? 0 : 1;
  });
  LockClient client{store()};
  while (client.tryAcquire({"orders"}).has_value()) usleep(10'000);  // lint-allow(sleep): until the child has it
  const Instant from = readClock();
  const LockResult<Lock> lock = client.acquire({"orders"}, {.waitFor = 30s});
  EXPECT_TRUE(lock.has_value());
  EXPECT_LT(elapsedForHolder(from, readClock()), 10s) << "not after a poll of twenty seconds";
  EXPECT_EQ(exitOf(child), 0);
}

TEST_F(SqliteLocks, S1_02_aCrashedHoldersLockIsTakenOnTheKernelsProof) {
  const pid_t child = spawn([&] {
    LockClient client{store()};
    const LockResult<Lock> lock = client.acquire({"orders"}, {.lease = 10min});
    kill(getpid(), SIGKILL);
    return 0;
  });
  EXPECT_EQ(exitOf(child), -1);
  LockClient client{store()};
  const LockResult<Lock> lock = client.acquire({"orders"}, {.waitFor = 30s});
  ASSERT_TRUE(lock.has_value()) << lock.error().message;
  EXPECT_EQ(lock->fencingToken(), FencingToken{2});
}

TEST_F(SqliteLocks, S1_49_oddNamesDoNotCollide) {
  LockClient client{store()};
  std::vector<Lock> locks;
  for (const char* name : {"/", "#", "%", "é", "日本", "'", "\"", "a\nb", "a b", "a/b"}) {
    LockResult<Lock> lock = client.tryAcquire({name});
    ASSERT_TRUE(lock.has_value()) << name;
    locks.push_back(*std::move(lock));
  }
  EXPECT_EQ(client.held().size(), 10U);
  EXPECT_EQ(client.list("")->size(), 10U);
}

TEST_F(SqliteLocks, J43_J44_J46_J55_J56_whatCallsSaidIsInTheRow) {
  LockClient client{store()};
  Lock lock = client.acquire({"orders"}, {.data = "one", .attributes = {{"site", "berlin"}}}).value();
  EXPECT_TRUE(lock.renew({.lease = 30s, .data = "two"}).has_value());
  LeaseView view = client.peek({"orders"}).value();
  EXPECT_EQ(view.data(), "two");
  EXPECT_EQ(view.lease(), 30s);
  EXPECT_EQ(view.attributes().at("site"), "berlin");
  EXPECT_TRUE(lock.clearData().has_value());
  EXPECT_EQ(client.peek({"orders"})->data(), "");
  EXPECT_EQ(lock.release({.data = "left"}), ReleaseResult::released);
  EXPECT_EQ(client.peek({"orders"})->state(), LeaseViewState::released);
  lock = client.acquire({"orders"}, {.data = "mine", .replaceData = false}).value();
  EXPECT_EQ(lock.data(), "left");
  EXPECT_EQ(client.peek({"orders"})->data(), "left");
  EXPECT_EQ(lock.release({.deleteRecord = true}), ReleaseResult::released);
  EXPECT_EQ(client.peek({"orders"})->state(), LeaseViewState::absent);
  EXPECT_EQ(client.tryAcquire({"orders"})->fencingToken(), FencingToken{3}) << "S2-38: the counter outlives the row";
}

TEST_F(SqliteLocks, S1_39_J49_threadsEndWithTheClient) {
  const auto threads = [] {
    long count = 0;
    std::ifstream status{"/proc/self/status"};
    for (std::string word; status >> word;) {
      if (word == "Threads:") status >> count;
    }
    return count;
  };
  const pid_t child = spawn([&] {
    const long before = threads();
    {
      LockClient client{store()};
      std::vector<Lock> locks;
      for (int i = 0; i < 200; ++i) locks.push_back(client.acquire({"n" + std::to_string(i)}).value());
      if (threads() > before + 8) return 1;  // S2-06: not one for each lock
      if (!client.close().clean()) return 2;
    }
    for (int i = 0; i < 500 && threads() > before; ++i) usleep(10'000);  // lint-allow(sleep): the system ends them
    return threads() == before ? 0 : 3;
  });
  EXPECT_EQ(exitOf(child), 0);
}

}  // namespace
}  // namespace tenure::test
