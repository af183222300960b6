// The bodies of requests. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/system/result.hpp>

#include <tenure/adapters/dynamodb_fence.hpp>

#include "lockcore/aws/json_client.hpp"

namespace tenure::dynamodb_fence {

/// The attribute that holds a lease's token.
[[nodiscard]] std::string attributeOf(const std::string& lease);

/// Faults of a write are returned as a `misconfigured` error.
using Request = FenceResult<boost::json::object>;

[[nodiscard]] Request itemRequest(const TermStamp& stamp, const DynamoDbWrite& write);
[[nodiscard]] Request transactRequest(const TermStamp& stamp, const DynamoDbGuard& guard,
                                      const std::vector<DynamoDbWrite>& writes);
[[nodiscard]] boost::json::object readGuardRequest(const std::string& lease, const DynamoDbGuard& guard);

/// The answer to a write or a transaction. `ownCondition`: the item that the fence guards has a condition of the
/// caller's, too.
[[nodiscard]] FenceResult<DynamoDbWritten> writtenIn(const TermStamp& stamp, bool ownCondition,
                                                     const std::string& where, const aws::JsonOutcome& outcome);

/// The answer to a read of the guard's item.
[[nodiscard]] FenceResult<std::optional<TermStamp>> seenIn(const std::string& lease, const std::string& where,
                                                           const aws::JsonOutcome& outcome);

}  // namespace tenure::dynamodb_fence
