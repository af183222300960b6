// Counts what a store is asked and what it answers, for metrics.
#pragma once

#include <memory>

#include <tenure/lockcore/export.hpp>
#include <tenure/ops/metrics.hpp>

namespace tenure {
class LeaseStore;
}

namespace tenure::ops {

/// A store whose requests are counted.
struct TENURE_API MeteredStore {
  std::shared_ptr<LeaseStore> store{};  ///< to be given to groups, electors and clients instead of the one behind it
  /// tenure_store_requests and tenure_store_request_duration_seconds of this store, by what was asked. It has only
  /// operations that were called, so the number of series is bounded. Any thread; it waits for nobody.
  MetricSource metrics{};
};

/// Stands in front of `behind`, and answers what it answers, on the same threads. `name` is the label `store`; stores
/// of one process need different ones. Adds some 100 ns to each request.
[[nodiscard]] TENURE_API MeteredStore metered(std::shared_ptr<LeaseStore> behind, std::string name);

}  // namespace tenure::ops
