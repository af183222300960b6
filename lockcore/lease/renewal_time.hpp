// How long a renewal may take, and how soon the next one follows it. Holders renew by these rules, and `tenure doctor`
// judges a store by them.
#pragma once

#include <algorithm>
#include <chrono>

namespace tenure {

/// Less than half of the right that is left, so that a request that hangs leaves time for another one.
[[nodiscard]] constexpr std::chrono::nanoseconds renewalTimeout(std::chrono::nanoseconds heartbeat,
                                                                std::chrono::nanoseconds rightLeft) noexcept {
  return std::min(heartbeat, rightLeft / 2);
}

/// The least wait after a renewal that failed. The first one is about as long, later ones are longer.
[[nodiscard]] constexpr std::chrono::nanoseconds leastRetryWait(std::chrono::nanoseconds heartbeat) noexcept {
  return std::max<std::chrono::nanoseconds>(heartbeat / 16, std::chrono::milliseconds{1});
}

}  // namespace tenure
