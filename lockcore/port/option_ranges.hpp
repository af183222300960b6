// What the numbers among the options may be: for the checks of options, and for texts that name what is allowed.
#pragma once

#include <chrono>

#include <tenure/lockcore/lease_options.hpp>

namespace tenure {

/// What an option may be by itself, both ends included. The other options may narrow it further.
template <typename T>
struct OptionRange {
  T least;
  T most;

  [[nodiscard]] constexpr bool holds(const T& value) const { return value >= least && value <= most; }
};

/// The range of each option of LeaseOptions; LeaseTiming::from knows how they narrow each other.
struct LeaseRanges {
  using Range = OptionRange<std::chrono::milliseconds>;
  static constexpr Range duration{minLeaseDuration, maxLeaseDuration};
  static constexpr Range heartbeat{std::chrono::milliseconds{10}, maxLeaseDuration};
  static constexpr Range clockMargin{std::chrono::milliseconds{0}, maxLeaseDuration / 2};
  static constexpr Range stopMargin{std::chrono::milliseconds{0}, maxLeaseDuration / 2};
  static constexpr Range drainTimeout{std::chrono::milliseconds{0}, maxLeaseDuration};
  static constexpr Range progressTimeout{heartbeat.least, maxLeaseDuration};
};

}  // namespace tenure
