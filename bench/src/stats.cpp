#include "stats.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <utility>

#include <fmt/core.h>

namespace tenure::bench {
namespace {

using Figures = std::vector<std::pair<std::string, double>>;

/// What the one bench of this process has printed.
Figures& figures() {
  static Figures all;
  return all;
}
Figures& bounds() {
  static Figures all;
  return all;
}

std::string jsonOf(const Figures& all) {
  std::string text;
  for (const auto& [name, value] : all) {
    const std::string number = std::isfinite(value) ? fmt::format("{:.6g}", value) : "null";
    text += fmt::format("{}\"{}\":{}", text.empty() ? "" : ",", name,
                        number);  // the names are the bench's own and need no escaping
  }
  return '{' + text + '}';
}

}  // namespace

double Sample::percentile(double share) const {
  if (values_.empty()) return std::nan("");
  std::vector<double> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

void Sample::print(const std::string& name) const {
  for (const auto& [suffix, share] : {std::pair{"p50", 0.5}, std::pair{"p99", 0.99}, std::pair{"max", 1.0}}) {
    figures().emplace_back(fmt::format("{}, {} (ms)", name, suffix), percentile(share));
  }
  fmt::print("  {:<58} n={:<4} p50 {:9.3f}  p90 {:9.3f}  p99 {:9.3f}  max {:9.3f} ms\n", name, count(), percentile(0.5),
             percentile(0.9), percentile(0.99), max());
}

bool verdict(const std::string& what, double value, double bound, const std::string& unit) {
  const bool holds = value <= bound;
  const std::string name = unit.empty() ? what : fmt::format("{} ({})", what, unit);
  figures().emplace_back(name, value);
  bounds().emplace_back(name, bound);
  fmt::print("  {:<7}{:<60} {:10.3f} {} (bound {:.3f})\n", holds ? "ok" : "MISSED", what, value, unit, bound);
  return holds;
}

void figure(const std::string& what, double value, const std::string& unit) {
  figures().emplace_back(fmt::format("{} ({})", what, unit), value);
  fmt::print("         {:<60} {:10.3f} {}\n", what, value, unit);
}

bool hasFigures() { return !figures().empty(); }

void writeResults(const std::string& path, const std::string& bench, bool holds) {
  std::ofstream file{path};
  file << fmt::format("{{\"bench\":\"{}\",\"holds\":{},\"figures\":{},\"bounds\":{}}}\n", bench, holds,
                      jsonOf(figures()), jsonOf(bounds()));
  if (!file.flush()) throw std::runtime_error("results cannot be written to " + path);
}

}  // namespace tenure::bench
