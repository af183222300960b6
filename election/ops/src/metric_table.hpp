// One row for each metric family: its description, and how a snapshot fills it in.
#pragma once

#include <functional>
#include <string>
#include <string_view>
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

/// The text format of Prometheus, for whoever does not ask for OpenMetrics.
inline constexpr std::string_view plainMetricsType = "text/plain; version=0.0.4; charset=utf-8";
/// What is asked for as version 0.0.1, or as none, is the same text as 1.0.0.
inline constexpr std::string_view firstOpenMetricsType = "application/openmetrics-text; version=0.0.1; charset=utf-8";

/// The type with the highest `q` of those that an Accept header names; the first of equals. No wildcard means
/// OpenMetrics, so plainMetricsType is for everything else too.
[[nodiscard]] std::string_view metricsTypeFor(std::string accept);

/// openMetricsText(), or the same samples in the text format 0.0.4.
[[nodiscard]] std::string metricsText(std::string_view type, const std::vector<Snapshot>& electors,
                                      std::vector<MetricFamily> others);

/// As OpenMetrics writes numbers. `isFloat`: `1.0` and not `1`, as the bounds of buckets must be.
[[nodiscard]] std::string numberText(double value, bool isFloat = false);

/// The label `le` of a histogram's bucket: renewalTimeBounds in seconds, and `+Inf` after the last.
[[nodiscard]] std::string boundText(std::size_t bucket);

}  // namespace tenure::ops
