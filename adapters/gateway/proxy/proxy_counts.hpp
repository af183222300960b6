// What became of the requests to a proxy, for metrics.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace tenure::gateway {

/// Counted on the proxy's thread, read by the one that shows metrics. The lock is held for a moment only.
class ProxyCounts {
 public:
  /// `outcome`: `forwarded`, or the kind of the rejection. The program defines them, so there are few.
  void add(const std::string& outcome) {
    const std::lock_guard lock{mutex_};
    ++counts_[outcome];
  }

  [[nodiscard]] std::map<std::string, std::uint64_t> byOutcome() const {
    const std::lock_guard lock{mutex_};
    return counts_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> counts_{{"forwarded", 0}, {"stale-token", 0}};
};

}  // namespace tenure::gateway
