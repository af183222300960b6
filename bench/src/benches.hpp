// The benches of tenure-bench. Each prints its figures with their bounds, and returns whether all bounds hold.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <string>

namespace tenure::bench {

struct Options {
  std::chrono::milliseconds lease{2000};
  std::chrono::milliseconds heartbeat{500};
  int processes{5};
  int rounds{50};
  std::uint64_t seed{1};
  int leases{1000};             ///< for the bench `leases`
  std::string json{};           ///< a file for the results; empty: none
  std::string store{"sqlite"};  ///< main.cpp has those that a bench knows
};

/// Random delays; the same seed gives the same delays again.
class SeededPhases {
 public:
  explicit SeededPhases(std::uint64_t seed) : engine_{seed} {}
  /// Uniform in [0, bound).
  std::chrono::microseconds next(std::chrono::microseconds bound) {
    return std::chrono::microseconds{std::uniform_int_distribution<std::int64_t>{0, bound.count() - 1}(engine_)};
  }

 private:
  std::mt19937_64 engine_;
};

bool benchFailover(const Options& options);
bool benchHandover(const Options& options);
bool benchPause(const Options& options);
/// A renewal through the store, compared with the same compare-and-swap written by hand with SQLite's C API.
bool benchRenew(const Options& options);
/// The same on the PostgreSQL of TENURE_TEST_POSTGRESQL, beside its pipeline by hand, a bare UPDATE and advisory locks.
bool benchRenewPostgresql(const Options& options);
/// The same on the etcd of TENURE_TEST_ETCD, beside the same transaction posted by hand.
bool benchRenewEtcd(const Options& options);
/// Acquiring and releasing a lock, compared with the same written by hand: two transactions on SQLite, or two requests
/// on the DynamoDB of TENURE_TEST_DYNAMODB. Then 100 candidates for one lock.
bool benchLocks(const Options& options);
/// One lock for 10 candidates in each of 1, 2, 5 and 10 processes: the requests of a hand-over, and who gets the lock.
bool benchQueue(const Options& options);
/// A fenced write compared with a bare one: SQLite, PostgreSQL (at TENURE_TEST_POSTGRESQL), Redis, a plain file.
bool benchFence(const Options& options);
/// Requests through `tenure fence proxy` compared with the same requests without it: latency, and the rate of one core.
bool benchProxy(const Options& options);
/// 1,000 leases (or as many as --leases says) of one process, acquired at once, lease 10 s, heartbeat 3 s, for 60 s; on
/// one file, or on a table of DynamoDB in memory.
bool benchLeases(const Options& options);
/// CPU of a heartbeat on DynamoDB compared with a bare POST of the same bytes, for 100, 1,000 and 10,000 leases.
bool benchHeartbeat(const Options& options);
/// 10,000 leases of one process on DynamoDB, lease 10 s, heartbeat 3 s, a server 5 ms away, for two minutes.
bool benchCrowd(const Options& options);

}  // namespace tenure::bench
