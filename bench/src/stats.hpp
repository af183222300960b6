// Percentiles and a table that people can read.
#pragma once

#include <string>
#include <vector>

namespace tenure::bench {

/// Values in milliseconds.
class Sample {
 public:
  void add(double milliseconds) { values_.push_back(milliseconds); }
  [[nodiscard]] std::size_t count() const noexcept { return values_.size(); }
  /// Nearest rank: the smallest value that at least this share (0..1) of all values does not exceed.
  [[nodiscard]] double percentile(double share) const;
  [[nodiscard]] double max() const { return percentile(1.0); }

  /// `name   n=50  p50 2.1 ms  p90 ...  p99 ...  max ...`
  void print(const std::string& name) const;

 private:
  std::vector<double> values_;
};

/// Prints `ok` or `MISSED` with the figure and its bound; returns whether the bound holds.
bool verdict(const std::string& what, double value, double bound, const std::string& unit);

/// Prints a figure that has no bound.
void figure(const std::string& what, double value, const std::string& unit);

/// Whether the functions above have printed anything.
[[nodiscard]] bool hasFigures();

/// All that the functions above have printed, as JSON: `{"bench":"crowd","holds":true,"figures":{...},"bounds":{...}}`.
/// Throws std::runtime_error if the file cannot be written.
void writeResults(const std::string& path, const std::string& bench, bool holds);

}  // namespace tenure::bench
