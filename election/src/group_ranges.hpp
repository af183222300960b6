// What the numbers among a group's options may be.
#pragma once

#include <chrono>

#include "lockcore/port/option_ranges.hpp"

namespace tenure {

/// The range of each number in GroupOptions beside those of the lease (LeaseRanges).
struct GroupRanges {
  static constexpr OptionRange<unsigned> priority{0, maxPriority};
  static constexpr OptionRange<std::chrono::milliseconds> reclaimAfter{std::chrono::seconds{1}, std::chrono::hours{24}};
  static constexpr OptionRange<unsigned> shards{0, 10'000};
  static constexpr OptionRange<unsigned> maxLeases{1, shards.most};
  static constexpr OptionRange<std::chrono::milliseconds> listInterval{std::chrono::milliseconds{10},
                                                                       maxLeaseDuration / 2};
};

}  // namespace tenure
