// Values that are drawn from a RandomSource.
#pragma once

#include <chrono>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure {

/// Uniform in [0, bound); zero if bound <= 0.
[[nodiscard]] TENURE_API std::chrono::nanoseconds uniform(RandomSource& random, std::chrono::nanoseconds bound);

/// At least half of `wait`, less than all of it: those who wait for one thing do not come back together.
[[nodiscard]] TENURE_API std::chrono::nanoseconds jittered(RandomSource& random, std::chrono::nanoseconds wait);

/// A UUID version 4 in lower case (RFC 9562).
[[nodiscard]] TENURE_API std::string uuid4(RandomSource& random);

/// 128 random bits as 32 lower-case hex digits.
[[nodiscard]] TENURE_API std::string hex128(RandomSource& random);

/// The unique text of a new candidate of this name: `name#incarnation`.
[[nodiscard]] TENURE_API std::string newCandidate(const std::string& name, RandomSource& random);

}  // namespace tenure
