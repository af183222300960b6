// When credentials are fetched again. Pure.
#pragma once

#include <chrono>
#include <optional>

#include <tenure/lockcore/runtime.hpp>

namespace tenure::aws {

/// How long after the fetch credentials are used. It is a little less than their lifetime, so that no request arrives
/// with a token that has expired on the way.
[[nodiscard]] std::chrono::nanoseconds usableFor(std::chrono::seconds lifetime);

/// How long after the fetch the next one begins: a quarter of an hour before the end, or half the lifetime before it,
/// whichever is later. It may be up to a quarter of that earlier, at random, so that a fleet started at once does not
/// refresh at once.
[[nodiscard]] std::chrono::nanoseconds refreshAfter(std::chrono::seconds lifetime, RandomSource& random);

/// The pause after the `failures`-th failure in a row (1, 2, ...): it doubles from 0.5 s to 10 s, and half of it is
/// random. While older credentials are usable for `left`, it is at most a quarter of that.
[[nodiscard]] std::chrono::nanoseconds retryAfter(int failures, std::optional<std::chrono::nanoseconds> left,
                                                  RandomSource& random);

}  // namespace tenure::aws
