// The jobs of the store's calls: which statements, with which values. Nothing here looks at an answer.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include <tenure/lockcore/lease_store.hpp>

#include "database.hpp"

namespace tenure::postgresql_store {

/// Where the listeners of a table listen.
[[nodiscard]] std::string channelOf(std::string_view schema, std::string_view table);
/// What they are told: a hash of the lease's name, because a payload is short and everybody may read it.
[[nodiscard]] std::string payloadOf(const LeaseKey& key);

/// A write is done if one of `statements` from `decides` on has returned a row. What the row says is in its first
/// columns.
struct WriteJob {
  Job job{};
  std::size_t decides{1};
};

class Jobs {
 public:
  [[nodiscard]] static WriteJob write(const WriteRequest& request);
  /// Says in the row that the term is over which this acquisition was to follow.
  [[nodiscard]] static Job announce(const WriteRequest& acquisition);
  [[nodiscard]] static WriteJob remove(const LeaseKey& key, const RecordVersion& version);
  [[nodiscard]] static WriteJob askToStepDown(const LeaseKey& key, FencingToken token);
  [[nodiscard]] static WriteJob setTokens(const LeaseKey& key, const StoredTokens& expected, FencingToken token,
                                          const std::string& version);

  /// Renewals that change neither data nor attributes, in one transaction. Behind it, all rows are read that do not
  /// have the new version.
  [[nodiscard]] static Job renewals(const std::vector<const WriteRequest*>& requests);
  [[nodiscard]] static bool mayJoin(const WriteRequest& request) noexcept;

  [[nodiscard]] static Job read(const LeaseKey& key);
  /// At most `most` leases.
  [[nodiscard]] static Job list(const std::string& prefix, const LeaseKey& from, std::size_t most);
  [[nodiscard]] static Job notify(const std::string& channel, const std::set<std::string>& payloads);
  [[nodiscard]] static Job readLayout();
  [[nodiscard]] static Job createTable();

 private:
  [[nodiscard]] static WriteJob acquire(const WriteRequest& request);
  [[nodiscard]] static WriteJob writeTerm(const WriteRequest& request);
  [[nodiscard]] static WriteJob removing(const WriteRequest& request);
};

}  // namespace tenure::postgresql_store
