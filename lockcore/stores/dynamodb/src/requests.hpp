// The bodies of the requests about leases. Pure: the same arguments give the same text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "layout.hpp"
#include "replies.hpp"

namespace tenure::dynamodb_store {

/// GetItem of the lock item, strongly consistent.
[[nodiscard]] std::string readRequest(const Layout& layout, const LeaseKey& key);

/// BatchGetItem of the lock item and the counter's item, strongly consistent: the one read of an acquisition.
[[nodiscard]] std::string readPairRequest(const Layout& layout, const LeaseKey& key);

/// Scan, strongly consistent; the answer tells what it cost. `startKey` is the JSON of the previous page's
/// LastEvaluatedKey, empty for the first page.
[[nodiscard]] std::string listRequest(const Layout& layout, std::string_view prefix, std::string_view startKey);

/// Query of all items of this partition key, strongly consistent; `startKey` as above.
[[nodiscard]] std::string queryRequest(const Layout& layout, std::string_view name, std::string_view startKey);

/// A change, and the state that it was decided from. A request is made of nothing else: its condition is that the state
/// is still so, and it writes the change.
struct Swap {
  Pair seen;
  std::vector<RecordVersion> versions{};  ///< the record has one of these; none: there is no record
  stored::Change change{};
  std::int64_t expiresAt{0};  ///< epoch seconds, for the time-to-live attribute
};

/// UpdateItem of the lock item, for a change that leaves the counter as it is.
[[nodiscard]] std::string updateRequest(const Layout& layout, const LeaseKey& key, const Swap& swap);

/// TransactWriteItems of both items, for a change of the counter. The lock item is written, or deleted.
[[nodiscard]] std::string transactRequest(const Layout& layout, const LeaseKey& key, const Swap& swap);

/// UpdateItem that asks the term of `seen` to step down, for a change that is decided from that term alone.
[[nodiscard]] std::string stepDownRequest(const Layout& layout, const LeaseKey& key, const StoredRecord& seen,
                                          const StoredRecord& next);

}  // namespace tenure::dynamodb_store
