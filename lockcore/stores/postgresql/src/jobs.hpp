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

/// A write is done if one of its statements has returned a row. What the row says is in its first columns.
class Jobs {
 public:
  [[nodiscard]] static Job write(const WriteRequest& request);
  /// Says in the row that the term is over which this acquisition was to follow.
  [[nodiscard]] static Job announce(const WriteRequest& acquisition);
  [[nodiscard]] static Job remove(const LeaseKey& key, const RecordVersion& version);
  [[nodiscard]] static Job askToStepDown(const LeaseKey& key, FencingToken token);
  [[nodiscard]] static Job setTokens(const LeaseKey& key, const StoredTokens& expected, FencingToken token,
                                     const std::string& version);

  /// Renewals that change neither data nor attributes, in one transaction.
  [[nodiscard]] static Job renewals(const std::vector<const WriteRequest*>& requests);
  [[nodiscard]] static bool mayJoin(const WriteRequest& request) noexcept;

  [[nodiscard]] static Job read(const LeaseKey& key);
  [[nodiscard]] static Job read(const std::vector<LeaseKey>& keys);
  /// At most `most` leases.
  [[nodiscard]] static Job list(const std::string& prefix, const LeaseKey& from, std::size_t most);
  [[nodiscard]] static Job notify(const std::string& channel, const std::set<std::string>& payloads);
  [[nodiscard]] static Job readLayout();
  [[nodiscard]] static Job createTable();

 private:
  [[nodiscard]] static Job acquire(const WriteRequest& request);
  [[nodiscard]] static Job writeTerm(const WriteRequest& request);
  [[nodiscard]] static Job removing(const WriteRequest& request);
};

}  // namespace tenure::postgresql_store
