// When credentials are fetched again. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/port/random_draws.hpp"
#include "lockcore/port/saturating_time.hpp"

namespace tenure::aws {

/// How long after the fetch credentials are used. It is a little less than their lifetime, so that no request arrives
/// with a token that has expired on the way.
[[nodiscard]] inline std::chrono::nanoseconds usableFor(std::chrono::seconds lifetime) {
  const auto all = saturating::in<std::chrono::nanoseconds>(lifetime);
  return all - std::min<std::chrono::nanoseconds>(all / 10, std::chrono::seconds{10});
}

/// How long after the fetch the next one begins: a quarter of an hour before the end, or half the lifetime before it,
/// whichever is later. It may be up to a quarter of that earlier, at random, so that a fleet started at once does not
/// refresh at once.
[[nodiscard]] inline std::chrono::nanoseconds refreshAfter(std::chrono::seconds lifetime, RandomSource& random) {
  const auto all = saturating::in<std::chrono::nanoseconds>(lifetime);
  const std::chrono::nanoseconds ahead = std::min<std::chrono::nanoseconds>(all / 2, std::chrono::minutes{15});
  return all - ahead - uniform(random, std::min(ahead, all - ahead) / 4);
}

/// What is added to expired credentials of an instance. By refreshAfter() the next attempt is 7.5 to 10 minutes later;
/// botocore adds 17 to 25 minutes, and tries again after 2 to 10.
inline constexpr std::chrono::seconds extension = std::chrono::minutes{20};

/// The pause after the `failures`-th failure in a row (1, 2, ...): it doubles from 0.5 s to 10 s, and half of it is
/// random. While older credentials are usable for `left`, it is at most a quarter of that.
[[nodiscard]] inline std::chrono::nanoseconds retryAfter(int failures, std::optional<std::chrono::nanoseconds> left,
                                                         RandomSource& random) {
  constexpr std::chrono::nanoseconds shortest = std::chrono::milliseconds{500};
  constexpr std::chrono::nanoseconds longest = std::chrono::seconds{10};
  const std::chrono::nanoseconds full = std::min(longest, shortest * (1 << std::clamp(failures - 1, 0, 10)));
  const std::chrono::nanoseconds pause = full / 2 + uniform(random, full / 2);
  return left ? std::min(pause, *left / 4) : pause;
}

}  // namespace tenure::aws
