// The bodies of the requests about leases. Pure: the same arguments give the same text.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "layout.hpp"
#include "record_codec.hpp"

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

using Attributes = std::map<std::string, std::string>;

/// What an ownership write does in addition to the request itself.
struct WriteDetails {
  /// The user's attributes in the item as it was read. Those that the request does not keep are removed. Only used if
  /// the request brings attributes.
  Attributes stored{};
  bool present{true};            ///< acquire only: there is an item
  bool hasData{false};           ///< the item that was read has data; for DataRule::keepIfAny
  std::int64_t epochSeconds{0};  ///< for the time-to-live attribute
  std::chrono::seconds ttl{0};
};

/// UpdateItem for renew and release. `request.expected` is not empty.
[[nodiscard]] std::string updateRequest(const Layout& layout, const WriteRequest& request, const WriteDetails& details);

/// TransactWriteItems for acquire: writes the lock item, and moves the counter from what `companion` says to `next`.
[[nodiscard]] std::string acquireRequest(const Layout& layout, const WriteRequest& request, const WriteDetails& details,
                                         const Companion& companion, const stored::Counter& next);

/// The same for a renewal that lengthens the lease: as updateRequest, and in addition the counter states the longer
/// lease.
[[nodiscard]] std::string lengthenRequest(const Layout& layout, const WriteRequest& request,
                                          const WriteDetails& details, const Companion& companion,
                                          const stored::Counter& next);

/// The same for a removal: deletes the lock item if it has this version and holder, and moves the counter from what
/// `companion` says to `next`.
[[nodiscard]] std::string removeRequest(const Layout& layout, const LeaseKey& key, const LeaseRecord& seen,
                                        const Companion& companion, const stored::Counter& next);

[[nodiscard]] std::string stepDownRequest(const Layout& layout, const LeaseKey& key, FencingToken token);

}  // namespace tenure::dynamodb_store
