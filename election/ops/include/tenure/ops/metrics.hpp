// Metrics as text: OpenMetrics 1.0.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tenure/ops/snapshot.hpp>

namespace tenure::ops {

/// One metric family, as it is described to the reader. docs/reference/metrics.md has the same table.
struct Metric {
  std::string name;    ///< of the family; a counter's samples end in _total
  std::string type;    ///< gauge, counter, histogram, stateset, info
  std::string unit;    ///< empty: none
  std::string labels;  ///< besides `group`, with commas between; empty: none
  std::string help;    ///< one sentence
};

/// All families, in the order of the text.
[[nodiscard]] const std::vector<Metric>& metrics();

inline constexpr std::string_view openMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The exposition of these electors, which must be of different groups. It ends with `# EOF`. Label values are the
/// groups' names and words of the library, so their number is bounded.
[[nodiscard]] std::string openMetricsText(const std::vector<Snapshot>& electors);

}  // namespace tenure::ops
