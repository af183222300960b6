// Randomness as an argument, so that a simulation can replay it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <tenure/lockcore/clock.hpp>

namespace tenure {

/// A stream of 64 random bits at a time. Implementations need not be thread-safe; each user has its own.
class RandomSource {
 public:
  virtual ~RandomSource() = default;
  virtual std::uint64_t next() = 0;
};

/// The operating system's generator (getrandom), with the time mixed in. Thread-safe; draws differ in forked children,
/// and in the twins of a virtual machine that was cloned while it ran, though the kernels of both may give the same
/// bits until they are told of it (VM generation ID) or seed anew: twins that wrote the same record version could not
/// tell each other apart.
class SystemRandom final : public RandomSource {
 public:
  std::uint64_t next() override;
};

/// `bits` changed by the moment: another moment gives another result, and what was uniform stays so.
[[nodiscard]] std::uint64_t mixedWithTime(std::uint64_t bits, const Instant& now) noexcept;

/// Uniform in [0, bound); zero if bound <= 0.
[[nodiscard]] std::chrono::nanoseconds uniform(RandomSource& random, std::chrono::nanoseconds bound);

/// A UUID version 4 in lower case (RFC 9562).
[[nodiscard]] std::string uuid4(RandomSource& random);

/// 128 random bits as 32 lower-case hex digits.
[[nodiscard]] std::string hex128(RandomSource& random);

}  // namespace tenure
