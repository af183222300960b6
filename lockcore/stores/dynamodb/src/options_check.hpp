// Which options are valid: the ranges of their numbers, and the check of all.
#pragma once

#include <chrono>

#include <tenure/lockcore/stores/dynamodb_store.hpp>

#include "lockcore/port/option_ranges.hpp"

namespace tenure {

/// The range of each number among DynamoDbStoreOptions.
struct DynamoDbRanges {
  static constexpr OptionRange<unsigned> capacity{1, 40'000};
  static constexpr OptionRange<std::chrono::seconds> ttl{std::chrono::hours{24 * 7}, std::chrono::hours{24 * 3'650}};
};

}  // namespace tenure

namespace tenure::dynamodb_store {

/// Throws std::invalid_argument that names every option at fault.
void checkOptions(const DynamoDbStoreOptions& options);

}  // namespace tenure::dynamodb_store
