// What others do on PostgreSQL for the purposes of a lease, by libpq on the caller's thread: the floors of the store.
#pragma once

#include <memory>
#include <string>

#include "lockcore/port/lease_store.hpp"

namespace tenure::bench {

/// Throws std::runtime_error with the server's message.
class PostgresqlByHand {
 public:
  /// Makes a schema with a table of one lease, and drops it at the end.
  explicit PostgresqlByHand(const std::string& url);
  ~PostgresqlByHand();
  PostgresqlByHand(const PostgresqlByHand&) = delete;
  PostgresqlByHand& operator=(const PostgresqlByHand&) = delete;

  /// A renewal in one flush, with a far simpler record: BEGIN, settings, UPDATE ... RETURNING, COMMIT, SELECT.
  void pipeline(const std::string& from, const std::string& to);
  /// The messages that the store itself would send, for a lease in its table.
  void storesOwn(const WriteRequest& renewal);
  /// One UPDATE with its own commit.
  void bareUpdate(const std::string& from, const std::string& to);
  /// pg_try_advisory_lock and pg_advisory_unlock: nothing is written, and nothing is fenced.
  void advisoryLock();
  /// Transactions that this database has committed since it was made.
  [[nodiscard]] long commits();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The median time of one commit on the server, in ms.
[[nodiscard]] double commitMillis(const std::string& url, int rounds = 300);

}  // namespace tenure::bench
