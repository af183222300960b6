// What became of the requests to a proxy, for metrics.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <tenure/ops/metrics.hpp>

namespace tenure::cli::fence_proxy {

/// Counted on the proxy's thread, read by the listener's. The lock is held for a moment only.
class ProxyCounts {
 public:
  /// `outcome`: `forwarded`, or the kind of the refusal. The program defines them, so there are few.
  void add(const std::string& outcome) {
    const std::lock_guard lock{mutex_};
    ++counts_[outcome];
  }

  [[nodiscard]] std::vector<ops::MetricFamily> families() const {
    ops::MetricFamily requests = ops::familyOf("tenure_proxy_requests");
    const std::lock_guard lock{mutex_};
    for (const auto& [outcome, count] : counts_) {
      requests.samples.push_back({"_total", {{"outcome", outcome}}, static_cast<double>(count)});
    }
    return {std::move(requests)};
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> counts_{{"forwarded", 0}, {"stale-token", 0}};
};

}  // namespace tenure::cli::fence_proxy
