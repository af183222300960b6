// The randomness of the operating system.
#pragma once

#include <cstdint>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure {

/// The operating system's generator (getrandom), with the time mixed in. Thread-safe. Draws differ in forked children,
/// and in two copies of a virtual machine that was cloned while it ran. The kernels of both may give the same bits
/// until they are told of the cloning (VM generation ID) or seed again. If both copies wrote the same record version,
/// they could not tell each other apart.
class TENURE_API SystemRandom final : public RandomSource {
 public:
  std::uint64_t next() override;
};

/// `bits`, changed by the time: another time gives another result, and a uniform distribution stays uniform.
[[nodiscard]] std::uint64_t mixedWithTime(std::uint64_t bits, const Instant& now) noexcept;

}  // namespace tenure
