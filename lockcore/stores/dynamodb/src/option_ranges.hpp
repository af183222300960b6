// What the numbers among the options of the DynamoDB store may be.
#pragma once

#include <chrono>

#include "lockcore/port/option_ranges.hpp"

namespace tenure {

/// The range of each number among DynamoDbStoreOptions.
struct DynamoDbRanges {
  static constexpr OptionRange<unsigned> capacity{1, 40'000};
  static constexpr OptionRange<std::chrono::seconds> ttl{std::chrono::hours{24 * 7}, std::chrono::hours{24 * 3'650}};
};

}  // namespace tenure
