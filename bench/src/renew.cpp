// Compares a renewal through the store with the same compare-and-swap transaction written by hand with SQLite's C API.
#include <stdexcept>

#include <fmt/core.h>
#include <sqlite3.h>

#include <tenure/lockcore/runtime.hpp>
#include <tenure/lockcore/stores/sqlite_store.hpp>

#include "benches.hpp"
#include "fleet.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "stats.hpp"
#include "through_store.hpp"

namespace tenure::bench {
namespace {

/// The least that it can cost: one connection, prepared statements, WAL, synchronous=FULL, on the caller's own thread.
class ByHand {
 public:
  explicit ByHand(const std::string& path) {
    check(sqlite3_open(path.c_str(), &db_));
    run("PRAGMA journal_mode=WAL");
    run("PRAGMA synchronous=FULL");
    run("CREATE TABLE lease(name TEXT PRIMARY KEY, holder TEXT, version TEXT, lease_ms INTEGER, token INTEGER)");
    run("INSERT INTO lease VALUES('bench', 'me', 'v0', 10000, 1)");
    check(sqlite3_prepare_v2(db_, "UPDATE lease SET version=?1, lease_ms=?2 WHERE name=?3 AND version=?4 AND holder=?5",
                             -1, &update_, nullptr));
    check(sqlite3_prepare_v2(db_, "BEGIN IMMEDIATE", -1, &begin_, nullptr));
    check(sqlite3_prepare_v2(db_, "COMMIT", -1, &commit_, nullptr));
  }
  ~ByHand() {
    for (sqlite3_stmt* statement : {update_, begin_, commit_}) sqlite3_finalize(statement);
    sqlite3_close(db_);
  }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;

  void renew(const std::string& from, const std::string& to) {
    step(begin_);
    sqlite3_bind_text(update_, 1, to.c_str(), -1, SQLITE_STATIC);
    sqlite3_bind_int64(update_, 2, 10'000);
    sqlite3_bind_text(update_, 3, "bench", -1, SQLITE_STATIC);
    sqlite3_bind_text(update_, 4, from.c_str(), -1, SQLITE_STATIC);
    sqlite3_bind_text(update_, 5, "me", -1, SQLITE_STATIC);
    step(update_);
    if (sqlite3_changes(db_) != 1) throw std::runtime_error("the hand-written renewal changed nothing");
    step(commit_);
  }

 private:
  void check(int code) {
    if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(db_));
  }
  void run(const char* sql) { check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr)); }
  void step(sqlite3_stmt* statement) {
    if (sqlite3_step(statement) != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(db_));
    check(sqlite3_reset(statement));
  }

  sqlite3* db_{nullptr};
  sqlite3_stmt* update_{nullptr};
  sqlite3_stmt* begin_{nullptr};
  sqlite3_stmt* commit_{nullptr};
};

double microsOf(const Instant& from) { return static_cast<double>(elapsedForHolder(from, readClock()).count()) / 1e3; }

}  // namespace

bool benchRenew(const Options& options) {
#ifdef TENURE_BENCH_POSTGRESQL
  if (options.store == "postgresql") return benchRenewPostgresql(options);
#endif
#ifdef TENURE_BENCH_ETCD
  if (options.store == "etcd") return benchRenewEtcd(options);
#endif
  fmt::print("renew: {} renewals of each kind, taken in turns (WAL, synchronous=FULL)\n", options.rounds);
  const Scratch scratch;
  ByHand byHand{scratch.path("by-hand.db")};
  ThroughStore store{makeSqliteStore({scratch.path("store.db"), false})};
  SystemRandom random;
  Sample hand;
  Sample ours;
  std::string version = "v0";
  for (int i = 0; i < options.rounds; ++i) {
    const std::string next = uuid4(random);
    // In turns and in changing order, so that a busy disk slows both equally.
    for (const bool first : {i % 2 == 0, i % 2 != 0}) {
      const Instant from = readClock();
      first ? byHand.renew(version, next) : store.renew(version, next);
      (first ? hand : ours).add(microsOf(from) / 1e3);
    }
    version = next;
  }
  hand.print("by hand, on the caller's thread");
  ours.print("through the store, with its own thread");
  return verdict("ratio of the medians", ours.percentile(0.5) / hand.percentile(0.5), 1.25, "x");
}

}  // namespace tenure::bench
