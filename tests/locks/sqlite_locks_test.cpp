// Locks in a real SQLite file, between real processes.
#include <fstream>
#include <future>
#include <memory>
#include <pthread.h>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <tenure/lockcore/lock_client.hpp>
#include <tenure/lockcore/runtime.hpp>
#include <tenure/lockcore/stores/sqlite_store.hpp>

#include "lockcore/driver/lease_driver.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "locks/fenced_count.hpp"
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

TEST_F(SqliteLocks, eightProcessesCountExactly) {
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

TEST_F(SqliteLocks, fencedCountsAreExactUnderKillsAndStops) {
  const FencedCount count{[this] { return store(); }, directory.file("ledger.db"), 400ms, sections(25), 40};
  count.runUnderKillsAndStops();
}

/// Code after the answer runs on the store's own thread there.
TEST_F(SqliteLocks, theLastOfEverythingMayGoInsideAnAnswer) {
  for (int round = 0; round < 20; ++round) {
    std::promise<std::string> thread;
    auto store = this->store();
    auto client = std::make_shared<LockClient>(store);
    ASSERT_TRUE(client->acquire({"warm"}).has_value());
    const LeaseKey key{"lease" + std::to_string(round)};  // the last round's is not released
    LeaseDriver::Options options{MachineOptions{key, "a#1", LeaseTiming::from({}).value()}};
    auto driver = std::make_shared<std::shared_ptr<LeaseDriver>>();
    options.onNotice = [&thread, driver, last = client](const LeaseNotice& notice) mutable {
      if (!std::holds_alternative<action::Elected>(notice)) return;
      char name[32]{};
      pthread_getname_np(pthread_self(), name, sizeof name);
      last.reset();
      driver->reset();
      thread.set_value(name);
    };
    *driver =
        std::make_shared<LeaseDriver>(std::move(options), store, sharedScheduler(), std::make_unique<SystemRandom>());
    client.reset();
    (*driver)->submit(event::Start{});
    store.reset();
    const std::string where = thread.get_future().get();
    EXPECT_TRUE(where == "tenure-sqlite-w" || where == "tenure-renewal") << where;
  }
}

TEST_F(SqliteLocks, aReleasedLockIsTakenAtOnceByAnotherProcess) {
  const pid_t child = spawn([&] {
    LockClient client{store()};
    LockResult<Lock> lock = client.acquire({"orders"}, {.lease = 60s});
    usleep(300'000);  // lint-allow(sleep): the other process must wait
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

TEST_F(SqliteLocks, aCrashedHoldersLockIsTakenOnTheKernelsProof) {
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

TEST_F(SqliteLocks, oddNamesDoNotCollide) {
  LockClient client{store()};
  std::vector<Lock> locks;
  for (const char* name : {"/", "#", "%", "é", "日本", "'", "\"", "a\\nb", "a b", "a/b"}) {
    LockResult<Lock> lock = client.tryAcquire({name});
    ASSERT_TRUE(lock.has_value()) << name;
    locks.push_back(*std::move(lock));
  }
  EXPECT_EQ(client.held().size(), 10U);
  EXPECT_EQ(client.list("")->size(), 10U);
}

TEST_F(SqliteLocks, aListingShowsARecordThatIsNotUnderstoodBesideTheGoodOnes) {
  LockClient client{store()};
  EXPECT_EQ(client.acquire({"bad"})->release(), ReleaseResult::released);
  const Lock good = client.acquire({"good"}).value();
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(directory.file("locks.db").c_str(), &database), SQLITE_OK);
  sqlite3_busy_timeout(database, 10'000);
  EXPECT_EQ(
      sqlite3_exec(database, "UPDATE tenure_lease SET lease_ms = -5 WHERE name = 'bad'", nullptr, nullptr, nullptr),
      SQLITE_OK);
  sqlite3_close(database);

  const auto listed = client.list("").value();
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].key().name, "bad");
  EXPECT_EQ(listed[0].state(), LeaseViewState::corrupt);
  EXPECT_FALSE(listed[0].isHeld());
  EXPECT_EQ(listed[0].holder(), "");
  ASSERT_TRUE(listed[0].error());
  EXPECT_EQ(listed[0].error()->errorClass, ErrorClass::corrupt) << listed[0].error()->message;
  EXPECT_EQ(listed[1].state(), LeaseViewState::held);
  EXPECT_FALSE(listed[1].error());
  const auto peeked = client.peek({"bad"});
  ASSERT_TRUE(peeked.has_error());
  EXPECT_EQ(peeked.error().code, LockErrc::recordCorrupt) << peeked.error().message;
}

TEST_F(SqliteLocks, whatCallsSaidIsInTheRow) {
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

TEST_F(SqliteLocks, threadsEndWithTheClient) {
  const auto threads = [] {
    long count = 0;
    std::ifstream status{"/proc/self/status"};
    for (std::string word; status >> word;) {
      if (word == "Threads:") status >> count;
    }
    return count;
  };
  const pid_t child = spawn([&] {
    std::thread{[] {}}.join();  // a sanitizer starts its own thread together with the first one
    const long before = threads();
    {
      LockClient client{store()};
      std::vector<Lock> locks;
      for (int i = 0; i < 60; ++i) locks.push_back(client.acquire({"n" + std::to_string(i)}).value());
      if (threads() > before + 8) return 1;  // S2-06: there is not one thread for each lock
      if (!client.close().clean()) return 2;
    }
    for (int i = 0; i < 500 && threads() > before; ++i) usleep(10'000);  // lint-allow(sleep): the system ends them
    return threads() == before ? 0 : 3;
  });
  EXPECT_EQ(exitOf(child), 0);
}

}  // namespace
}  // namespace tenure::test
