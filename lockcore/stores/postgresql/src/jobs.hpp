// The jobs of the store's calls: which statements, with which values. Nothing here looks at an answer.
#pragma once

#include <cstddef>
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
  explicit Jobs(std::string channel) : channel_{std::move(channel)} {}

  [[nodiscard]] WriteJob write(const WriteRequest& request) const;
  [[nodiscard]] WriteJob remove(const LeaseKey& key, const RecordVersion& version) const;
  [[nodiscard]] WriteJob askToStepDown(const LeaseKey& key, FencingToken token) const;
  [[nodiscard]] WriteJob setTokens(const LeaseKey& key, const StoredTokens& expected, FencingToken token,
                                   const std::string& version) const;

  /// Renewals that change neither data nor attributes, in one transaction. Behind it, all rows are read that do not
  /// have the new version.
  [[nodiscard]] static Job renewals(const std::vector<const WriteRequest*>& requests);
  [[nodiscard]] static bool mayJoin(const WriteRequest& request) noexcept;

  [[nodiscard]] static Job read(const LeaseKey& key);
  /// `most`: 0: all.
  [[nodiscard]] static Job list(const std::string& prefix, const LeaseKey& from, std::size_t most);
  [[nodiscard]] static Job readLayout();
  [[nodiscard]] static Job createTable();

 private:
  [[nodiscard]] WriteJob acquire(const WriteRequest& request) const;
  [[nodiscard]] WriteJob writeTerm(const WriteRequest& request) const;
  [[nodiscard]] WriteJob removing(const WriteRequest& request) const;

  const std::string channel_;
};

}  // namespace tenure::postgresql_store
