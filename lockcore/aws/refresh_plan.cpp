#include "refresh_plan.hpp"

#include <algorithm>

#include "lockcore/port/random_draws.hpp"

namespace tenure::aws {

using std::chrono::nanoseconds;

nanoseconds usableFor(std::chrono::seconds lifetime) {
  const nanoseconds all = lifetime;
  return all - std::min<nanoseconds>(all / 10, std::chrono::seconds{10});
}

nanoseconds refreshAfter(std::chrono::seconds lifetime, RandomSource& random) {
  const nanoseconds all = lifetime;
  const nanoseconds ahead = std::min<nanoseconds>(all / 2, std::chrono::minutes{15});
  return all - ahead - uniform(random, std::min(ahead, all - ahead) / 4);
}

nanoseconds retryAfter(int failures, std::optional<nanoseconds> left, RandomSource& random) {
  constexpr nanoseconds shortest = std::chrono::milliseconds{500};
  constexpr nanoseconds longest = std::chrono::seconds{10};
  const nanoseconds full = std::min(longest, shortest * (1 << std::clamp(failures - 1, 0, 10)));
  const nanoseconds pause = full / 2 + uniform(random, full / 2);
  return left ? std::min(pause, *left / 4) : pause;
}

}  // namespace tenure::aws
