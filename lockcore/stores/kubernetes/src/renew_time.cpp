#include "renew_time.hpp"

#include <algorithm>
#include <chrono>

#include "micro_time.hpp"

namespace tenure::kubernetes_store {
namespace {

constexpr std::int64_t second = 1'000'000;

std::int64_t microsFromMillis(std::int64_t millis) {
  return std::clamp(millis, earliestMicros / 1000, latestMicros / 1000) * 1000;
}

}  // namespace

std::int64_t nextRenewMicros(std::optional<std::int64_t> before, const std::optional<RenewClock>& clock,
                             const Instant& now, std::int64_t wallMillis) {
  std::int64_t next = microsFromMillis(wallMillis);
  if (clock) {
    const auto elapsed = std::chrono::duration_cast<std::chrono::microseconds>(elapsedForHolder(clock->at, now));
    next = clock->micros + elapsed.count();
  }
  if (before) next = std::max(next, *before + (clock ? 1 : second));
  return std::clamp(next, earliestMicros, latestMicros);
}

}  // namespace tenure::kubernetes_store
