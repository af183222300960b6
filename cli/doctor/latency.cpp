#include "latency.hpp"

#include <algorithm>

#include "lockcore/lease/renewal_time.hpp"

namespace tenure::cli::doctor {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

bool bears(milliseconds duration, nanoseconds latency) {
  return bearable(LeaseTiming::from({.duration = duration}).value()) >= latency;
}

}  // namespace

std::optional<LatencySummary> summaryOf(const Latencies& latencies) {
  std::vector<nanoseconds> sorted = latencies.answered;
  if (sorted.empty()) return std::nullopt;
  std::sort(sorted.begin(), sorted.end());
  const auto rank = [&](std::size_t percent) { return sorted[(sorted.size() * percent + 99) / 100 - 1]; };
  return LatencySummary{sorted.size(), rank(50), rank(99), sorted.back()};
}

nanoseconds bearable(const LeaseTiming& timing) noexcept {
  const nanoseconds heartbeat = timing.heartbeat();
  const nanoseconds left = timing.leadsFor() - heartbeat;
  const nanoseconds first = renewalTimeout(heartbeat, left);
  const nanoseconds second = renewalTimeout(heartbeat, left - first - leastRetryWait(heartbeat));
  return std::max(nanoseconds{0}, std::min(first, second));
}

std::optional<milliseconds> shortestLease(nanoseconds latency) {
  if (!bears(maxLeaseDuration, latency)) return std::nullopt;
  milliseconds least = minLeaseDuration, enough = maxLeaseDuration;
  while (least < enough) {
    const milliseconds middle = least + (enough - least) / 2;
    if (bears(middle, latency)) {
      enough = middle;
    } else {
      least = middle + milliseconds{1};
    }
  }
  return enough;
}

}  // namespace tenure::cli::doctor
