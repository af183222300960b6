// How long a store takes, and which lease bears that.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <tenure/lockcore/lease_options.hpp>

namespace tenure::cli::doctor {

/// Calls one after another.
struct Latencies {
  std::vector<std::chrono::nanoseconds> answered{};  ///< in any order
  std::size_t failed{0};
  std::string lastError{};  ///< of those that failed
};

struct LatencySummary {
  std::size_t count{0};
  std::chrono::nanoseconds p50{0};
  std::chrono::nanoseconds p99{0};
  std::chrono::nanoseconds most{0};
};
/// Percentiles by the nearest rank: each is a time that was measured. Empty: no call was answered.
[[nodiscard]] std::optional<LatencySummary> summaryOf(const Latencies& latencies);

/// The longest that each call may take so that leadership outlives one renewal that is lost: the second renewal is sent
/// when the first one's time is over and the wait after it, and is answered in its own time.
[[nodiscard]] std::chrono::nanoseconds bearable(const LeaseTiming& timing) noexcept;

/// The shortest lease.duration that bears calls of this length, all other values of the lease following from it. Empty:
/// not even the longest one.
[[nodiscard]] std::optional<std::chrono::milliseconds> shortestLease(std::chrono::nanoseconds latency);

}  // namespace tenure::cli::doctor
