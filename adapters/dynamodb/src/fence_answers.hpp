// What the service's answers mean. Pure.
#pragma once

#include <optional>
#include <string>

#include <tenure/adapters/dynamodb_fence.hpp>

#include "lockcore/aws/json_client.hpp"

namespace tenure::dynamodb_fence {

/// The answer to a write or a transaction.
[[nodiscard]] FenceResult<DynamoDbWritten> writtenIn(const TermStamp& stamp, const std::string& where,
                                                     const aws::JsonOutcome& outcome);

/// The answer to a read of the guard's item.
[[nodiscard]] FenceResult<std::optional<TermStamp>> seenIn(const std::string& lease, const std::string& where,
                                                           const aws::JsonOutcome& outcome);

}  // namespace tenure::dynamodb_fence
