// Metrics as text (OpenMetrics 1.0), and stores whose requests are counted for them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenure/lockcore/export.hpp>
#include <tenure/ops/snapshot.hpp>

namespace tenure::ops {

/// One metric family, as it is described to the reader. docs/reference/metrics.md has the same table.
struct Metric {
  std::string name;    ///< of the family; a counter's samples end in _total
  std::string type;    ///< gauge, counter, histogram, stateset, info
  std::string unit;    ///< empty: none
  std::string labels;  ///< in addition to `group`, with commas between; empty: none
  std::string help;    ///< one sentence
  bool ofGroup{true};  ///< `group` is a label too
};

/// All families that this library knows, in the order of the text.
[[nodiscard]] TENURE_API const std::vector<Metric>& metrics();

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

struct MetricSample {
  std::string suffix{};  ///< after the family's name, such as `_total`
  MetricLabels labels{};
  double value{0};
};

/// A family with its samples, not of an elector. Its name may be one of metrics(), or the program's
/// own, by the rules of OpenMetrics.
struct MetricFamily {
  Metric metric;
  std::vector<MetricSample> samples{};
};

/// Called at each scrape, on the thread that writes the text. It must neither wait nor throw.
using MetricSource = std::function<std::vector<MetricFamily>()>;

/// The family of metrics() with this name, still without samples. The name must be one of them.
[[nodiscard]] TENURE_API MetricFamily familyOf(std::string_view name);

inline constexpr std::string_view openMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// tenure_locks_held; give it `client.held().size()` of a LockClient.
[[nodiscard]] TENURE_API MetricFamily heldLocks(std::size_t locks);

/// The exposition of these electors, which must be of different groups, and of the other sources; families of
/// one name are written as one. It ends with `# EOF`. Label values of the library are the names of groups, stores and
/// jobs, and fixed words, so their number is bounded.
[[nodiscard]] TENURE_API std::string openMetricsText(const std::vector<Snapshot>& electors,
                                                     std::vector<MetricFamily> others = {});

}  // namespace tenure::ops

namespace tenure {
class LeaseStore;
}

namespace tenure::ops {

/// A store whose requests are counted.
struct MeteredStore {
  std::shared_ptr<LeaseStore> store{};  ///< to be given to groups, electors and clients instead of the one behind it
  /// tenure_store_requests and tenure_store_request_duration_seconds of this store, by what was asked. It has only
  /// operations that were called, so the number of series is bounded. Any thread; it never waits.
  MetricSource metrics{};
};

/// Stands in front of `behind`, and answers what it answers, on the same threads. `name` is the label `store`; stores
/// of one process need different ones. Adds some 100 ns to each request.
[[nodiscard]] TENURE_API MeteredStore metered(std::shared_ptr<LeaseStore> behind, std::string name);

}  // namespace tenure::ops
