// What became of a copy's jobs, for metrics.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <tenure/ops/metrics.hpp>

#include "cli/process/process.hpp"

namespace tenure::cli {

/// Counted on the main thread, read by the listener's.
class JobCounts {
 public:
  void started() noexcept {
    ++starts_;
    running_ = true;
  }
  void ended(const ExitStatus& status) noexcept {
    running_ = false;
    ++exits_[status.bySignal ? signalled : status.shellCode() == 0 ? succeeded : failed];
  }

  /// Samples of `group`.
  [[nodiscard]] std::vector<ops::MetricFamily> families(const std::string& group) const;

 private:
  enum { succeeded, failed, signalled, outcomes };
  std::atomic<std::uint64_t> starts_{0};
  std::atomic<bool> running_{false};
  std::array<std::atomic<std::uint64_t>, outcomes> exits_{};
};

}  // namespace tenure::cli
