#include "stats.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace tenure::bench {

double Sample::percentile(double share) const {
  if (values_.empty()) return std::nan("");
  std::vector<double> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

void Sample::print(const std::string& name) const {
  fmt::print("  {:<58} n={:<4} p50 {:9.3f}  p90 {:9.3f}  p99 {:9.3f}  max {:9.3f} ms\n", name, count(), percentile(0.5),
             percentile(0.9), percentile(0.99), max());
}

bool verdict(const std::string& what, double value, double bound, const std::string& unit) {
  const bool holds = value <= bound;
  fmt::print("  {:<7}{:<60} {:10.3f} {} (bound {:.3f})\n", holds ? "ok" : "MISSED", what, value, unit, bound);
  return holds;
}

}  // namespace tenure::bench
