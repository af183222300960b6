// Randomness that a seed replays.
#pragma once

#include <cstdint>

#include <tenure/lockcore/runtime.hpp>

namespace tenure::test {

/// splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014; the constants are those
/// of Vigna's public-domain version). The same seed gives the same stream on every platform.
class SeededRandom final : public RandomSource {
 public:
  explicit constexpr SeededRandom(std::uint64_t seed) noexcept : state_{seed} {}

  std::uint64_t next() override {
    std::uint64_t z = (state_ += 0x9E37'79B9'7F4A'7C15ULL);
    z = (z ^ (z >> 30U)) * 0xBF58'476D'1CE4'E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D0'49BB'1331'11EBULL;
    return z ^ (z >> 31U);
  }

  /// Uniform in [0, bound); zero if bound is zero.
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }

  /// True with this probability.
  bool chance(double probability) { return static_cast<double>(next() >> 11U) * 0x1p-53 < probability; }

  /// Another stream that depends only on this one's seed, so that one more draw in one does not shift the other.
  [[nodiscard]] SeededRandom split(std::uint64_t stream) const {
    return SeededRandom{SeededRandom{state_ ^ (stream * 0xD6E8'FEB8'6659'FD93ULL)}.next()};
  }

 private:
  std::uint64_t state_;
};

}  // namespace tenure::test
