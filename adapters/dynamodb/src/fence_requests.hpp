// The bodies of requests. Pure.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/system/result.hpp>

#include <tenure/adapters/dynamodb_fence.hpp>

namespace tenure::dynamodb_fence {

/// The attribute that holds a lease's token.
[[nodiscard]] std::string attributeOf(const std::string& lease);

/// Faults of a write are returned as `misconfigured` trouble.
using Request = FenceResult<boost::json::object>;

[[nodiscard]] Request itemRequest(const TermStamp& stamp, const DynamoDbWrite& write);
[[nodiscard]] Request transactRequest(const TermStamp& stamp, const DynamoDbGuard& guard,
                                      const std::vector<DynamoDbWrite>& writes);
[[nodiscard]] boost::json::object readGuardRequest(const std::string& lease, const DynamoDbGuard& guard);

}  // namespace tenure::dynamodb_fence
