// The randomness of the operating system.
#pragma once

#include <cstdint>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure {

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

}  // namespace tenure
