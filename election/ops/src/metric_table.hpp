// One row for each metric family: its description, and how a snapshot fills it in.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenure/ops/metrics.hpp>

namespace tenure::ops {

using Labels = MetricLabels;
/// Takes a sample: what stands after the family's name, the labels besides `group`, the value.
using SampleSink = std::function<void(std::string_view suffix, const Labels& labels, double value)>;

struct MetricSpec {
  Metric metric;
  std::function<void(const Snapshot& from, const SampleSink& sink)> fill;
};

[[nodiscard]] const std::vector<MetricSpec>& metricSpecs();

/// Families of something else than electors; whoever counts fills them in.
[[nodiscard]] const std::vector<Metric>& otherMetrics();

/// As OpenMetrics writes numbers. `isFloat`: `1.0` and not `1`, as the bounds of buckets must be.
[[nodiscard]] std::string numberText(double value, bool isFloat = false);

/// The label `le` of a histogram's bucket: renewalTimeBounds in seconds, and `+Inf` after the last.
[[nodiscard]] std::string boundText(std::size_t bucket);

}  // namespace tenure::ops
