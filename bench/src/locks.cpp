// Measures locks: a round trip compared with the same written by hand, and many candidates that want one lock.
#include <atomic>
#include <cstdlib>
#include <functional>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <sqlite3.h>

#include <tenure/lockcore/lock_client.hpp>
#include <tenure/lockcore/stores/sqlite_store.hpp>

#include "benches.hpp"
#include "fleet.hpp"
#include "stats.hpp"
#ifdef TENURE_WITH_DYNAMODB
#include <tenure/lockcore/stores/dynamodb_store.hpp>

#include "lock_by_posts.hpp"
#endif

namespace tenure::bench {
namespace {

using namespace std::chrono_literals;

/// The least that a lock can cost: two transactions, as one would write them by hand. The first takes the lock and
/// counts the term, the second gives it back. It has one connection, prepared statements, WAL and synchronous=FULL, and
/// runs on the caller's own thread.
class LockByHand {
 public:
  explicit LockByHand(const std::string& path) {
    check(sqlite3_open(path.c_str(), &db_));
    run("PRAGMA journal_mode=WAL");
    run("PRAGMA synchronous=FULL");
    run("CREATE TABLE lease(name TEXT PRIMARY KEY, holder TEXT, version TEXT, state TEXT, token INTEGER)");
    run("INSERT INTO lease VALUES('bench', 'me', 'v0', 'released', 0)");
    prepare("BEGIN IMMEDIATE", begin_);
    prepare("COMMIT", commit_);
    prepare("UPDATE lease SET state='held', version=?1, token=token+1 WHERE name='bench' AND state='released'", take_);
    prepare("UPDATE lease SET state='released', version=?1 WHERE name='bench' AND state='held'", give_);
  }
  ~LockByHand() {
    for (sqlite3_stmt* statement : {begin_, commit_, take_, give_}) sqlite3_finalize(statement);
    sqlite3_close(db_);
  }
  LockByHand(const LockByHand&) = delete;
  LockByHand& operator=(const LockByHand&) = delete;

  void roundTrip(int round) {
    change(take_, 2 * round);
    change(give_, 2 * round + 1);
  }

 private:
  void change(sqlite3_stmt* statement, int version) {
    step(begin_);
    const std::string text = "version-" + std::to_string(version);
    sqlite3_bind_text(statement, 1, text.c_str(), -1, SQLITE_STATIC);
    step(statement);
    if (sqlite3_changes(db_) != 1) throw std::runtime_error("the hand-written lock changed nothing");
    step(commit_);
  }
  void check(int code) {
    if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(db_));
  }
  void run(const char* sql) { check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr)); }
  void prepare(const char* sql, sqlite3_stmt*& statement) {
    check(sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr));
  }
  void step(sqlite3_stmt* statement) {
    if (sqlite3_step(statement) != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(db_));
    check(sqlite3_reset(statement));
  }

  sqlite3* db_{nullptr};
  sqlite3_stmt *begin_{nullptr}, *commit_{nullptr}, *take_{nullptr}, *give_{nullptr};
};

double millisSince(const Instant& from) {
  return static_cast<double>(elapsedForHolder(from, readClock()).count()) / 1e6;
}

Lock mustAcquire(LockClient& client) {
  LockResult<Lock> lock = client.acquire({"bench"});
  if (lock.has_error()) throw std::runtime_error(lock.error().message);
  return *std::move(lock);
}

/// Where the locks of a bench are, and how a lock written by hand does a round trip there.
struct Ground {
  std::shared_ptr<LeaseStore> store;
  std::function<void(int round)> byHand;
  std::string byHandIs;
};

Ground sqliteGround(const Scratch& scratch) {
  const auto byHand = std::make_shared<LockByHand>(scratch.path("by-hand.db"));
  return {makeSqliteStore({scratch.path("locks.db")}), [byHand](int round) { byHand->roundTrip(round); },
          "two transactions by hand"};
}

#ifdef TENURE_WITH_DYNAMODB
Ground dynamoDbGround() {
  const char* endpoint = std::getenv("TENURE_TEST_DYNAMODB");  // NOLINT(concurrency-mt-unsafe)
  if (endpoint == nullptr) throw std::runtime_error("no DynamoDB; run: scripts/bench locks --store dynamodb");
  DynamoDbStoreOptions options;
  options.table = fmt::format("bench-{:x}", std::random_device{}());
  options.region = "us-east-1";
  options.endpoint = endpoint;
  const auto byHand = std::make_shared<LockByPosts>(endpoint, options.table + "-by-hand");
  return {makeDynamoDbStore(options), [byHand](int) { byHand->roundTrip(); }, "two requests by hand"};
}
#else
Ground dynamoDbGround() { throw std::runtime_error("this program was built without DynamoDB"); }
#endif

Ground groundOf(const Options& options, const Scratch& scratch) {
  return options.store == "dynamodb" ? dynamoDbGround() : sqliteGround(scratch);
}

bool roundTrips(const Options& options) {
  const Scratch scratch;
  const Ground ground = groundOf(options, scratch);
  LockClient client{ground.store};
  mustAcquire(client).release();  // makes what the store still lacks
  Sample hand;
  Sample ours;
  for (int round = 0; round < options.rounds; ++round) {
    // In turns and in changing order, so that a busy machine slows both equally.
    for (const bool first : {round % 2 == 0, round % 2 != 0}) {
      const Instant from = readClock();
      if (first) {
        ground.byHand(round);
      } else {
        Lock lock = mustAcquire(client);
        if (lock.release() != ReleaseResult::released) throw std::runtime_error("a lock was not released");
      }
      (first ? hand : ours).add(millisSince(from));
    }
  }
  hand.print(ground.byHandIs);
  ours.print("acquire() and release()");
  return verdict("ratio of the medians", ours.percentile(0.5) / hand.percentile(0.5), 2.3, "x");
}

struct Crowd {
  double perSecond{0};
  Sample waits{};
};

/// Each candidate holds the lock for 10 ms and acquires it again at once. A wait counts if it began after all
/// candidates had started.
Crowd crowd(const Options& options, int candidates, std::chrono::milliseconds length) {
  const Scratch scratch;
  const std::shared_ptr<LeaseStore> store = groundOf(options, scratch).store;
  std::atomic<bool> over{false};
  std::atomic<bool> counts{false};
  std::atomic<int> sections{0};
  std::atomic<int> begun{0};
  std::mutex mutex;
  Crowd result;
  std::vector<std::thread> threads;
  for (int i = 0; i < candidates; ++i) {
    threads.emplace_back([&] {
      LockClient client{store};
      bool first = true;
      while (!over) {
        const bool counted = counts;
        const Instant from = readClock();
        Lock lock = mustAcquire(client);
        const double waited = millisSince(from);
        std::this_thread::sleep_for(10ms);
        lock.release();
        if (std::exchange(first, false)) ++begun;
        if (!counted || over) continue;
        ++sections;
        const std::lock_guard guard{mutex};
        result.waits.add(waited);
      }
    });
  }
  await([&] { return begun == candidates; }, "the first round of all candidates");
  sections = 0;
  counts = true;
  const Instant from = readClock();
  std::this_thread::sleep_for(length);
  result.perSecond = sections / (millisSince(from) / 1e3);
  over = true;
  for (std::thread& thread : threads) thread.join();
  return result;
}

}  // namespace

bool benchLocks(const Options& options) {
  fmt::print("locks: {} round trips of each kind on {}, taken in turns\n", options.rounds, options.store);
  bool holds = roundTrips(options);
  fmt::print("locks: {} candidates of one process want one lock, each holds it for 10 ms\n", options.processes);
  const Crowd alone = crowd(options, 1, options.rounds * 5ms);
  const Crowd many = crowd(options, options.processes, options.rounds * 10ms);
  fmt::print("  alone {:.1f} sections a second, in the crowd {:.1f}\n", alone.perSecond, many.perSecond);
  many.waits.print("a wait in the crowd");
  holds &= verdict("throughput alone beside that of the crowd", alone.perSecond / many.perSecond, 1 / 0.75, "x");
  holds &= verdict("longest wait beside the median", many.waits.max() / many.waits.percentile(0.5), 5.0, "x");
  return holds;
}

}  // namespace tenure::bench
