// Compares a fenced write with the same write without a fence, on the same server.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>
#include <sqlite3.h>

#include <tenure/adapters/fenced_file.hpp>
#include <tenure/adapters/sqlite_fence.hpp>

#include "benches.hpp"
#include "fence_dynamodb.hpp"
#include "fence_postgresql.hpp"
#include "fence_redis.hpp"
#include "fence_s3.hpp"
#include "fleet.hpp"
#include "stats.hpp"

namespace tenure::bench {
namespace {

const TermStamp stamp{"bench", FencingToken{7}, "me#0"};

double millisOf(const Instant& from) { return static_cast<double>(elapsedForHolder(from, readClock()).count()) / 1e6; }

/// Runs both in turns and in changing order, so that a busy disk slows both equally. Returns the ratio of the medians.
double compare(const std::string& name, int rounds, const std::function<void()>& bare,
               const std::function<void()>& fenced) {
  Sample without;
  Sample with;
  for (int i = 0; i < rounds; ++i) {
    for (const bool first : {i % 2 == 0, i % 2 != 0}) {
      const Instant from = readClock();
      first ? bare() : fenced();
      (first ? without : with).add(millisOf(from));
    }
  }
  without.print(name + ", bare");
  with.print(name + ", fenced");
  return with.percentile(0.5) / without.percentile(0.5);
}

void done(const FenceResult<void>& written) {
  if (written.has_error()) throw std::runtime_error(FenceError{written.error()}.message);
}

/// WAL, synchronous=FULL; both write to the same table by the same prepared statement.
class Sqlite {
 public:
  explicit Sqlite(const std::string& path) {
    check(sqlite3_open(path.c_str(), &database_));
    for (const char* sql : {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "CREATE TABLE ledger(entry TEXT)"}) {
      check(sqlite3_exec(database_, sql, nullptr, nullptr, nullptr));
    }
    check(sqlite3_prepare_v2(database_, "INSERT INTO ledger VALUES('an entry of some forty bytes, as ledgers have')",
                             -1, &insert_, nullptr));
    check(sqlite3_prepare_v2(database_, "BEGIN IMMEDIATE", -1, &begin_, nullptr));
    check(sqlite3_prepare_v2(database_, "COMMIT", -1, &commit_, nullptr));
  }
  ~Sqlite() {
    for (sqlite3_stmt* statement : {insert_, begin_, commit_}) sqlite3_finalize(statement);
    sqlite3_close(database_);
  }
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;

  double run(int rounds) {
    SqliteFence fence = SqliteFence::open(database_).value();
    return compare(
        "SQLite", rounds,
        [this] {
          step(begin_);
          step(insert_);
          step(commit_);
        },
        [&] { done(fence.write(stamp, [this](sqlite3*) { step(insert_); })); });
  }

 private:
  void check(int code) {
    if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(database_));
  }
  void step(sqlite3_stmt* statement) {
    if (sqlite3_step(statement) != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(database_));
    check(sqlite3_reset(statement));
  }

  sqlite3* database_{nullptr};
  sqlite3_stmt *insert_{nullptr}, *begin_{nullptr}, *commit_{nullptr};
};

double runFile(const Scratch& scratch, int rounds) {
  constexpr std::string_view line = "an entry of some forty bytes, as ledgers have\n";
  const std::string barePath = scratch.path("bare");
  const int bare = ::open(barePath.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  FencedFile file = FencedFile::open(scratch.path("fenced")).value();
  const double ratio = compare(
      "file, append", rounds,
      [&] {
        if (::write(bare, line.data(), line.size()) < 0 || fdatasync(bare) != 0) throw std::runtime_error(barePath);
      },
      [&] { done(file.append(stamp, line)); });
  ::close(bare);
  return ratio;
}

template <class Writes>
bool runServer(const std::string& name, int rounds, double bound, Writes&& writes) {
  const double ratio = compare(
      name, rounds, [&] { writes.bare(); }, [&] { writes.fenced(); });
  return verdict(name + ": ratio of the medians", ratio, bound, "x");
}

#ifdef TENURE_WITH_DYNAMODB
/// Compares each kind of write with the bare one of that kind. The cost of a condition of the program's own has no
/// bound. It shows how much of the fence's cost is the server's work of reading the item first.
bool runDynamoDb(const char* endpoint, int rounds) {
  DynamoDbWrites writes{endpoint, stamp};
  const auto ratio = [&](const std::string& name, void (DynamoDbWrites::*bare)(), void (DynamoDbWrites::*fenced)()) {
    return compare(
        name, rounds, [&] { (writes.*bare)(); }, [&] { (writes.*fenced)(); });
  };
  using Writes = DynamoDbWrites;
  // Runs all writes until the server's JVM has compiled its code for them.
  for (const Instant from = readClock(); elapsedForHolder(from, readClock()) < std::chrono::seconds{4};) {
    for (const auto write : {&Writes::barePut, &Writes::conditionalPut, &Writes::fencedPut, &Writes::bareUpdate,
                             &Writes::fencedUpdate, &Writes::transactionOfTwo, &Writes::fencedTransaction}) {
      (writes.*write)();
    }
  }
  figure("DynamoDB: PutItem with a condition / without",
         ratio("DynamoDB, a put and one with a version", &Writes::barePut, &Writes::conditionalPut), "x");
  bool holds = verdict("DynamoDB, put: ratio of the medians",
                       ratio("DynamoDB, put", &Writes::barePut, &Writes::fencedPut), 1.3, "x");
  holds &= verdict("DynamoDB, update: ratio of the medians",
                   ratio("DynamoDB, update", &Writes::bareUpdate, &Writes::fencedUpdate), 1.3, "x");
  figure("DynamoDB: a transaction of a put / PutItem",
         ratio("DynamoDB, put alone and in a transaction", &Writes::barePut, &Writes::bareTransaction), "x");
  figure("DynamoDB: transact / a transaction of the put alone",
         ratio("DynamoDB, transaction of one", &Writes::bareTransaction, &Writes::fencedTransaction), "x");
  return verdict("DynamoDB, transact / a transaction of two items",
                 ratio("DynamoDB, transaction of two", &Writes::transactionOfTwo, &Writes::fencedTransaction), 1.3,
                 "x") &&
         holds;
}
#endif

/// Runs the resources that the build has and that can be reached.
bool runServers([[maybe_unused]] const Scratch& scratch, [[maybe_unused]] int rounds) {
  bool holds = true;
#ifdef TENURE_WITH_POSTGRESQL
  if (const char* url = std::getenv("TENURE_TEST_POSTGRESQL"); url != nullptr) {
    holds &= runServer("PostgreSQL", rounds, 1.3, PostgresqlWrites{url, stamp});
  } else {
    fmt::print("PostgreSQL is left out: run it by scripts/bench, or scripts/postgresql_local --durable\n");
  }
#endif
#ifdef TENURE_WITH_DYNAMODB
  if (const char* endpoint = std::getenv("TENURE_TEST_DYNAMODB"); endpoint != nullptr) {
    holds &= runDynamoDb(endpoint, std::max(rounds / 10, 1));  // a write to disk takes it 16 ms
  } else {
    fmt::print("DynamoDB is left out: run it by scripts/bench, or scripts/dynamodb_local --durable\n");
  }
#endif
#ifdef TENURE_WITH_REDIS
  holds &= runServer("Redis", rounds, 1.2, RedisWrites{scratch.path("redis"), stamp});
#endif
#ifdef TENURE_WITH_DYNAMODB
  if (const char* endpoint = std::getenv("TENURE_TEST_S3"); endpoint != nullptr) {
    holds &= runServer("S3 (moto)", rounds, 1.3, S3Writes{endpoint, stamp});
  } else {
    fmt::print("S3 is left out: run it by scripts/bench, or scripts/s3_local\n");
  }
#endif
  return holds;
}

}  // namespace

bool benchFence(const Options& options) {
  fmt::print("fence: {} writes of each kind, taken in turns, each of them on the disk when it returns\n",
             options.rounds);
  const Scratch scratch;
  bool holds = verdict("SQLite: ratio of the medians", Sqlite{scratch.path("fence.db")}.run(options.rounds), 1.3, "x");
  holds &= runServers(scratch, options.rounds);
  // A plain file has no transaction: data, fence and directory are synced one after the other, not the data alone.
  return verdict("file: ratio of the medians", runFile(scratch, options.rounds), 10, "x") && holds;
}

}  // namespace tenure::bench
