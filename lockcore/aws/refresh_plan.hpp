// When credentials are fetched again. Pure.
#pragma once

#include <chrono>
#include <optional>

#include <tenure/lockcore/runtime.hpp>

namespace tenure::aws {

/// How long after the fetch credentials are used: a little less than their lifetime, so that no request arrives with a
/// token that expired on the way.
[[nodiscard]] std::chrono::nanoseconds usableFor(std::chrono::seconds lifetime);

/// How long after the fetch the next one begins: a quarter of an hour or half the lifetime ahead of the end, whichever
/// is later; up to a quarter of that earlier by chance, so that a fleet started at once does not refresh at once.
[[nodiscard]] std::chrono::nanoseconds refreshAfter(std::chrono::seconds lifetime, RandomSource& random);

/// Pause after the `failures`-th failure in a row (1, 2, ...): doubling from 0.5 s to 10 s, half of it by chance. While
/// older credentials are usable for `left`, at most a quarter of that.
[[nodiscard]] std::chrono::nanoseconds retryAfter(int failures, std::optional<std::chrono::nanoseconds> left,
                                                  RandomSource& random);

}  // namespace tenure::aws
