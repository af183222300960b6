// Workers that count under a lock and a fence, while they are killed and stopped.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <tenure/adapters/sqlite_fence.hpp>
#include <tenure/lockcore/lock_client.hpp>

#include "locks/workers.hpp"

namespace tenure::test {

/// A database in which workers count. Each increment is fenced, and is stored together with the worker's name.
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

/// Which workers count where, and how often.
struct FencedCount {
  static constexpr int workers = 8;

  std::function<std::shared_ptr<LeaseStore>()> store;  ///< called in each worker's process
  std::string ledger;                                  ///< the file
  std::chrono::milliseconds lease;
  int each;        ///< increments by each worker
  int mostFaults;  ///< at most, of each kind

  /// One section; the read and the write are separate. First the fence learns of this term, so that no earlier term
  /// writes after the read. False: it was refused, or the lock could not be acquired; the caller must repeat it.
  [[nodiscard]] bool once(LockClient& client, Ledger& file, SqliteFence& fence, int worker) const {
    LockResult<Lock> lock = client.acquire({"counter"}, {.lease = lease, .waitFor = std::chrono::seconds{100}});
    if (lock.has_error()) return false;
    const TermStamp stamp = TermStamp::of(*lock);
    if (fence.write(stamp, [](sqlite3*) {}).has_error()) return false;
    const long next = file.number("SELECT n FROM total") + 1;
    const std::string id = std::to_string(worker);
    return fence
        .write(stamp,
               [&](sqlite3*) {
                 if (file.run("UPDATE total SET n=" + std::to_string(next)) != SQLITE_OK) return SQLITE_ERROR;
                 return file.run("INSERT INTO done VALUES(" + id + ", 1) ON CONFLICT(worker) DO UPDATE SET n=n+1");
               })
        .has_value();
  }

  [[nodiscard]] int work(int worker) const {
    LockClient client{store()};
    Ledger file{ledger};
    auto fence = SqliteFence::open(file.handle());
    if (fence.has_error()) return 1;
    while (file.doneBy(worker) < each) (void)once(client, file, *fence, worker);
    return 0;
  }

  /// Killed workers start again, stopped workers continue, now and then only after more than a lease.
  void runUnderKillsAndStops() const {
    { const Ledger made{ledger}; }
    const auto begin = [this](int worker) { return spawn([this, worker] { return work(worker); }); };
    std::vector<pid_t> children;
    for (int worker = 0; worker < workers; ++worker) children.push_back(begin(worker));
    std::mt19937 generator{4711};
    const auto random = [&] { return static_cast<unsigned>(generator()); };
    const auto longest = static_cast<unsigned>(lease / std::chrono::microseconds{1} * 7 / 4);
    int kills = 0;
    int stops = 0;
    const auto left = [&] {
      return std::count_if(children.begin(), children.end(), [](pid_t child) { return child > 0; });
    };
    while (left() > 0) {
      // One of each comes at once: a quick machine could end the work before it is drawn.
      const bool both = kills > 0 && stops > 0;
      if (both) usleep(20'000 + random() % 60'000);  // lint-allow(sleep): faults come at random moments
      const std::size_t victim = random() % workers;
      pid_t& child = children[victim];
      if (child <= 0) continue;
      int status = 0;
      if (waitpid(child, &status, WNOHANG) == child) {
        ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        child = 0;
      } else if ((kills == 0 || (stops > 0 && random() % 2 == 0)) && kills < mostFaults) {
        kill(child, SIGKILL);
        const int code = exitOf(child);
        EXPECT_TRUE(code == -1 || code == 0) << code << "; zero: it was done just then";
        child = code == 0 ? 0 : begin(static_cast<int>(victim));
        kills += code == -1 ? 1 : 0;
      } else if (stops < mostFaults) {
        kill(child, SIGSTOP);
        usleep(random() % longest);  // lint-allow(sleep): for longer than its lease, now and then
        kill(child, SIGCONT);
        ++stops;
      }
    }
    const Ledger file{ledger};
    EXPECT_EQ(file.number("SELECT n FROM total"), workers * each);
    EXPECT_EQ(file.number("SELECT sum(n) FROM done"), workers * each);
    EXPECT_GT(kills, 0);
    EXPECT_GT(stops, 0);
    testing::Test::RecordProperty("kills", kills);
    testing::Test::RecordProperty("stops", stops);
  }
};

}  // namespace tenure::test
