// Records and fencing counters as the values of keys: JSON, named as the DynamoDB store names its attributes. Strict:
// what this release cannot have written is `corrupt`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/register.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "lockcore/port/extended_store.hpp"

namespace tenure::etcd_store {

using stored::Counter;
using stored::StoredRecord;

/// Where a value was read, for messages.
struct Place {
  const std::string& store;  ///< LeaseStore::describe()
  const LeaseKey& lease;
  const std::string& key;  ///< in the cluster
};

[[nodiscard]] std::string textOf(const StoredRecord& stored);
[[nodiscard]] std::string textOf(const Counter& counter);

[[nodiscard]] StoreResult<StoredRecord> recordFrom(const Place& place, std::string_view text);
[[nodiscard]] StoreResult<Counter> counterFrom(const Place& place, std::string_view text);

/// Both values for an operator, with the tokens as they are written there. Empty: there is no such key. `corrupt` if
/// there is a record in which not even a version is found.
[[nodiscard]] StoreResult<StoredTokens> tokensFrom(const Place& place, const std::optional<std::string>& record,
                                                   const std::optional<std::string>& counter);

/// The record's value with this token and version, as if released; everything else in it stays. Only for a value of
/// which tokensFrom() told a version.
[[nodiscard]] std::string corrected(std::string_view record, FencingToken token, const std::string& version);

}  // namespace tenure::etcd_store
